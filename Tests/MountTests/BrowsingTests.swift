import Glibc
import Posix
import TestSupport
import Testing

@Suite("A mounted profile", .serialized)
struct BrowsingTests {
    @Test("a copied file arrives once and complete")
    func bothWays() async throws {
        let mounts = try await TwoMounts.start()
        for (number, size) in [1, 2, 65_000, 261_120, 261_121, 1 << 20, 3_145_729, 5_500_000].enumerated() {
            let bytes = TwoMounts.bytes(size, seed: number)
            try await mounts.send(bytes, as: "\(size).bin")
            #expect(try mounts.read("bob/alice/\(size).bin") == bytes)
            #expect(try mounts.read("alice/bob/\(size).bin") == bytes)
        }
        #expect(try mounts.folder.names(in: "bob/alice").count == 8)
        #expect(try mounts.folder.names(in: "alice/bob").count == 8)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("a placeholder has size, time and attributes")
    func placeholder() async throws {
        let mounts = try await TwoMounts.start()
        let source = try mounts.folder.write(TwoMounts.bytes(700_000), to: "report.pdf")
        var times = [
            timespec(tv_sec: 1_600_000_000, tv_nsec: 0), timespec(tv_sec: 1_600_000_000, tv_nsec: 0),
        ]
        utimensat(AT_FDCWD, source, &times, 0)
        let copy = try await Shell.run("cp", ["-p", source, mounts.path("alice/bob/")])
        #expect(copy.succeeded, "\(copy.errors)")
        try await mounts.waitForState("sent", of: "alice/bob/report.pdf")
        try await mounts.waitForFile("bob/alice/report.pdf")
        let received = mounts.path("bob/alice/report.pdf")
        var status = stat()
        #expect(lstat(received, &status) == 0)
        #expect(status.st_size == 700_000 && status.st_blocks == 1)
        let new = try OpenFile(mounts.path("new"), flags: O_WRONLY | O_CREAT, mode: 0o666)
        let mode = try new.status().st_mode | 0o600
        #expect(status.st_mode == mode && status.st_uid == geteuid(), "that of a new file")
        #expect(status.st_mtim.tv_nsec == 0)
        #expect(try mounts.state("bob/alice/report.pdf") == "remote")
        let attributes = [
            "user.chatfs.progress": "0", "user.chatfs.transport": "xftp", "user.chatfs.sender": "alice",
            "user.chatfs.direction": "received", "user.mime_type": "application/pdf",
        ]
        for (name, value) in attributes { #expect(try ExtendedAttribute.text(name, of: received) == value) }
        let listed = try await Shell.run("getfattr", ["-d", "-m", "-", received])
        #expect(listed.output == "")
        // The sender sees the file's time, also after a remount.
        let inode = status.st_ino
        for _ in 0..<2 {
            #expect(lstat(mounts.path("alice/bob/report.pdf"), &status) == 0)
            #expect(status.st_mtim.tv_sec == 1_600_000_000)
            #expect(lstat(received, &status) == 0 && status.st_ino == inode)
            for name in ["alice", "bob"] {
                #expect(try await mounts.leave(name) == .code(0))
                try await mounts.mount(name)
            }
        }
        _ = try mounts.read("bob/alice/report.pdf")
        try await wait(until: "du shows that it is here") {
            var status = stat()
            return lstat(received, &status) == 0 && status.st_blocks > 1000
        }
    }

    @Test("mmap, pread and tar read the same bytes")
    func kindsOfReads() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(9_000_001)
        try await mounts.send(bytes, as: "video.mkv")
        let path = mounts.path("bob/alice/video.mkv")
        let file = try OpenFile(path, flags: O_RDONLY)
        // Backwards over all boundaries of chunks and blocks.
        for offset in [9_000_000, 8_388_608, 8_388_607, 4_194_304, 4_194_303, 65_536, 65_535, 1, 0] {
            let read = try file.read(count: 100_000, at: UInt64(offset))
            #expect(read == Array(bytes[offset..<min(offset + 100_000, bytes.count)]))
        }
        #expect(try file.read(count: 10, at: 9_000_001).isEmpty)
        let script = """
            import mmap,sys,hashlib
            with open(sys.argv[1],'rb') as f:
                m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)
                print(hashlib.sha256(m[:]).hexdigest())
            """
        let mapped = try await Shell.run("python3", ["-c", script, path])
        let sum = try await Shell.run("sha256sum", [mounts.path("alice/bob/video.mkv")])
        #expect(mapped.output.prefix(64) == sum.output.prefix(64))
        let tar = try await Shell.script(
            "tar -cSf - video.mkv | tar -xOf - | sha256sum", folder: mounts.path("bob/alice"))
        #expect(tar.output.prefix(64) == sum.output.prefix(64))
    }

    @Test("caption, temporary names and renames follow draft rules")
    func drafts() async throws {
        let mounts = try await TwoMounts.start()
        let draft = mounts.path("alice/bob/letter.txt")
        let file = try OpenFile(draft, flags: O_WRONLY | O_CREAT)
        try file.write(Array("Dear Bob".utf8), at: 0)
        try ExtendedAttribute.set("user.chatfs.caption", to: Array("With regards".utf8), of: draft)
        try ExtendedAttribute.set("user.xdg.origin.url", to: [1], of: draft)
        #expect(try ExtendedAttribute.value("user.xdg.origin.url", of: draft) == nil)
        #expect(try mounts.state("alice/bob/letter.txt") == "draft")
        try mounts.write(Array("half".utf8), to: "alice/bob/.photo.jpg.XyZ123")
        try mounts.write([], to: "alice/bob/empty")
        try mounts.write(Array("whole".utf8), to: "alice/bob/.photo2.jpg.XyZ124")
        #expect(rename(mounts.path("alice/bob/.photo2.jpg.XyZ124"), mounts.path("alice/bob/photo2.jpg")) == 0)
        try await mounts.waitForFile("bob/alice/photo2.jpg")
        withExtendedLifetime(file) {}
        #expect(access(mounts.path("bob/alice/letter.txt"), F_OK) == -1)
        let problem = try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("alice/bob/empty"))
        #expect(problem?.contains("empty") == true)
        #expect(try mounts.folder.names(in: "bob/alice") == ["photo2.jpg"])
        #expect(unlink(mounts.path("alice/bob/empty")) == 0)
        #expect(access(mounts.path("alice/bob/empty"), F_OK) == -1)
    }

    @Test("listings of thousands of entries are complete")
    func manyEntries() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        // Temporary names are never sent, so these drafts stay.
        for number in 0..<3000 { try mounts.write([1], to: "alice/bob/\(number).part") }
        let listing = try await Shell.script("ls -l | grep -c part", folder: mounts.path("alice/bob"))
        #expect(listing.output == "3000\n")
        #expect(Set(try mounts.folder.names(in: "alice/bob")).count == 3000)
    }
}
