import Testing

@testable import Posix

@Suite("The mount table")
struct MountTableTests {
    @Test(
        "a line of mountinfo is read with and without optional fields, with escaped blanks",
        arguments: [
            ("36 35 98:0 / / rw - ext4 /dev/root rw", "/", "ext4", "/dev/root"),
            (
                "90 36 0:55 / /home/a\\040b\\134c rw,nosuid shared:1 master:2 - fuse.chatfs my\\040chats rw",
                "/home/a b\\c", "fuse.chatfs", "my chats"
            ),
        ])
    func lines(line: String, path: String, type: String, source: String) throws {
        let mount = try #require(MountTable.parse(Substring(line)))
        #expect(mount == MountTable.Mount(path: path, type: type, source: source))
    }

    @Test(
        "a line that is none is passed over", arguments: ["", "36 35", "1 2 3 4 5 6 7 8", "1 2 3 / /a rw -"])
    func garbage(line: String) {
        #expect(MountTable.parse(Substring(line)) == nil)
    }

    @Test("this machine has mounts")
    func live() throws {
        // The root is no mount where this runs behind chroot(2); what was just read comes from /proc.
        #expect(try MountTable.mounts().contains { $0.path == "/proc" })
        #expect(try MountTable.mounts(below: "/proc").contains { $0.type == "proc" })
    }
}
