import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Visible traits of programs")
struct ProgramTraitsTests {
    private static let mount = MountTable.Mount(
        id: 40, device: "0:39", path: "/mnt", type: "fuse.chatfs", source: "chatfs")

    private static func concerns(_ text: String, _ folder: UInt64, _ mount: MountTable.Mount? = mount) -> Bool
    {
        OpenDescriptor.concerns(folder, on: mount, text: Array(text.utf8))
    }

    @Test func watchedFolderIsFoundByNumbers() {
        let text = """
            pos:\t0
            flags:\t02004000
            mnt_id:\t15
            ino:\t1057
            inotify wd:7 ino:f7c583 sdev:fe00000 mask:fc6 ignored_mask:0 fhandle-bytes:8
            inotify wd:3 ino:401 sdev:27 mask:fc6 ignored_mask:0 fhandle-bytes:c
            """
        #expect(Self.concerns(text, 0x401))
        #expect(Self.concerns(text, 0x401, nil))
        // The number exists on another filesystem.
        #expect(!Self.concerns(text, 0xf7c583))
        #expect(!Self.concerns(text, 1057))
    }

    @Test func openFolderIsFoundByNumbers() {
        let folder = "pos:\t0\nflags:\t0300000\nmnt_id:\t40\nino:\t1025\n"
        #expect(Self.concerns(folder, 1025))
        #expect(!Self.concerns(folder, 1026))
        #expect(!Self.concerns("pos:\t0\nflags:\t0100000\nmnt_id:\t40\nino:\t1025\n", 1025))
        #expect(!Self.concerns("pos:\t0\nflags:\t0300000\nmnt_id:\t41\nino:\t1025\n", 1025))
    }

    @Test(arguments: ["", "inotify", "inotify ino: sdev:\nflags:\nino:\tx\n", "\n\n\t\t"])
    func strangeTextIsNothing(_ text: String) { #expect(!Self.concerns(text, 0)) }

    @Test func thisProgramLoadsNeither() throws {
        let traits = try #require(ProgramTraits(of: getpid(), folder: 1, on: nil))
        #expect(!traits.loadsGIO && !traits.loadsQt && !traits.showsFolder && !traits.isWorker)
        #expect(ProgramTraits(of: 0, folder: 1, on: nil) == nil)
        #expect(ProgramTraits(of: .max, folder: 1, on: nil) == nil)
    }
}
