import Glibc
import Testing

@testable import Posix

@Suite("The mount table")
struct MountTableTests {
    @Test(
        "a line of mountinfo is read with and without optional fields, with escaped blanks",
        arguments: [
            (
                "36 35 98:0 / / rw - ext4 /dev/root rw",
                MountTable.Mount(id: 36, device: "98:0", path: "/", type: "ext4", source: "/dev/root")
            ),
            (
                "90 36 0:55 / /home/a\\040b\\134c rw,nosuid shared:1 master:2 - fuse.chatfs my\\040chats rw",
                MountTable.Mount(
                    id: 90, device: "0:55", path: "/home/a b\\c", type: "fuse.chatfs", source: "my chats")
            ),
            (
                "91 36 0:56 / /b rw - fuse.chatfs chatfs rw,user_id=1000,group_id=1000",
                MountTable.Mount(
                    id: 91, device: "0:56", path: "/b", type: "fuse.chatfs", source: "chatfs", user: 1000)
            ),
        ])
    func lines(line: String, mount: MountTable.Mount) {
        #expect(MountTable.parse(Array(line.utf8)[...]) == mount)
    }

    @Test(
        "malformed lines are skipped",
        arguments: [
            "", "36 35", "1 2 3 4 5 6 7 8", "1 2 3 / /a rw -", "one 35 98:0 / / rw - ext4 /dev/root rw",
        ])
    func garbage(line: String) {
        #expect(MountTable.parse(Array(line.utf8)[...]) == nil)
    }

    @Test(
        "escapes have three octal digits",
        arguments: [
            ("/a\\011b", "/a\tb"), ("/a\\012b", "/a\nb"), ("/a\\134040", "/a\\040"), ("/a\\08b", "/a\\08b"),
            ("/a\\04", "/a\\04"), ("/a\\", "/a\\"), ("/a\\303\\274", "/aü"), ("/a\\400", "/a\u{0}"),
            ("/-", "/-"),
        ])
    func escapes(written: String, path: String) {
        #expect(
            MountTable.parse(Array("36 35 98:0 / \(written) rw - ext4 /dev/root rw".utf8)[...])?.path == path)
    }

    @Test("a mount may lack a source")
    func noSource() {
        let mount = MountTable.parse(
            Array("36 35 0:40 / /x rw,relatime shared:1 - tmpfs  rw,size=1k".utf8)[...])
        #expect(mount == MountTable.Mount(id: 36, device: "0:40", path: "/x", type: "tmpfs", source: ""))
    }

    @Test("combining accents hide no separator")
    func accents() {
        let line = "36 35 0:40 / /mnt/\u{301}a rw - tmpfs \u{301}source rw\r"
        let mount = MountTable.parse(Array(line.utf8)[...])
        #expect(mount?.path.path(below: "/mnt")?.hasSameBytes(as: "\u{301}a") == true)
        #expect(mount?.source.hasSameBytes(as: "\u{301}source") == true)
    }

    @Test("this machine has mounts")
    func live() throws {
        // Behind chroot(2) the root is no mount; the tested text comes from /proc.
        #expect(try MountTable.mounts().contains { $0.path == "/proc" })
        #expect(try MountTable.mounts(below: "/proc").contains { $0.type == "proc" })
    }

    @Test("the mount on a path is found")
    func byPath() throws {
        #expect(try MountTable.mount(at: "/proc")?.type == "proc")
        #expect(try MountTable.mount(at: "/proc/self") == nil)
        #expect(try MountTable.mount(at: "/no such folder") == nil)
        #expect(try MountTable.mounts(seenBy: getpid()) == MountTable.mounts())
    }
}
