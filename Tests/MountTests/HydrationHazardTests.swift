import Glibc
import Posix
import TestSupport
import Testing

@Suite("A partly received file", .serialized)
struct HydrationHazardTests {
    /// The bytes to search for on the disk.
    private static let mark = Array("MARK-6f1c-of-a-file-that-nobody-else-may-read".utf8)

    /// Repeats the mark with a number, so that no two chunks are equal.
    private static func marked(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 64)
        var number = 0
        while bytes.count < count {
            bytes += mark + Array(" \(number)\n".utf8)
            number += 1
        }
        return Array(bytes[..<count])
    }

    private static func hasMark(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            mark.withUnsafeBytes { mark in
                (0..<max(0, bytes.count - mark.count)).contains {
                    memcmp(bytes.baseAddress! + $0, mark.baseAddress!, mark.count) == 0
                }
            }
        }
    }

    @Test("kill -9 leaves nothing readable on disk")
    func killed() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let temporary = try mounts.folder.makeFolder("temporary")
        try await mounts.mount("bob", environment: ["TMPDIR": temporary, "XDG_RUNTIME_DIR": temporary])
        let bytes = Self.marked(12_000_000)
        try await mounts.send(bytes, as: "marked.txt")
        let path = mounts.path("bob/alice/marked.txt")
        // The first and the third chunk go to one file.
        let reader = try OpenFile(path, flags: O_RDONLY)
        let place = UInt64(9_000_000)
        #expect(try reader.read(count: 4096, at: place) == Array(bytes[Int(place)..<Int(place) + 4096]))
        let daemon = try mounts.daemon("bob")
        // Only root may inspect the process. Unnamed files vanish with it; until then they are on the disk.
        if geteuid() == 0 {
            try await wait(until: "both lie on the disk") {
                try Self.bytesOnDisk(of: daemon, below: mounts.path("data/profiles/2/staging")) > 8_000_000
            }
            daemon.send(SIGSTOP)
            for file in try Self.openFiles(of: daemon, below: mounts.folder.path) {
                #expect(!Self.hasMark(try file.readAll(limit: 1 << 26)))
            }
        }
        daemon.send(SIGKILL)
        #expect(try await daemon.ending() == .signal(SIGKILL))
        // Data, spool, cache, temporary files and the relay; alice's mount is another filesystem.
        let files = try await Shell.run("find", [mounts.folder.path, "-xdev", "-type", "f"])
        let paths = files.output.split(separator: "\n").map(String.init)
        for path in paths {
            let file = try OpenFile(path, flags: O_RDONLY)
            #expect(!Self.hasMark(try file.readAll(limit: 1 << 26)), "\(path)")
        }
        for tree in ["data", "cache", "relay"] {
            #expect(paths.contains { $0.hasPrefix(mounts.path(tree) + "/") }, "\(tree)")
        }
        withExtendedLifetime(reader) {}
        // Nothing is lost.
        try await mounts.mount("bob")
        #expect(try mounts.read("bob/alice/marked.txt") == bytes)
    }

    @Test(
        "longer downloads resume after remount",
        arguments: [SIGTERM, SIGKILL])
    func resumed(signal: Int32) async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(21_000_000)
        try await mounts.send(bytes, as: "film.bin")
        // The first two chunks; then the relay stops responding.
        for place in [0, 4_300_000] as [UInt64] {
            let file = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
            #expect(try file.read(count: 4096, at: place) == Array(bytes[Int(place)..<Int(place) + 4096]))
        }
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        let half = try await Shell.run("head", ["-c", "8000000", mounts.path("bob/alice/film.bin")])
        #expect(half.succeeded)
        func isNoted() async throws -> Bool {
            let noted = try await Shell.run(
                "sh", ["-c", "cat \"$1\"/profiles/*/unfinished", "sh", mounts.data])
            return !noted.output.isEmpty
        }
        try await wait(until: "it is noted") { try await isNoted() }
        _ = try await mounts.leave("bob", by: signal)
        mounts.relay.send(SIGCONT)
        try await mounts.mount("bob")
        try await wait(until: "it is kept") { try await !isNoted() }
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        #expect(try mounts.state("bob/alice/film.bin") == "stored")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("a flipped bit is neither served nor kept")
    func flipped() async throws {
        // Only root may inspect the process.
        guard geteuid() == 0 else { return }
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(12_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let file = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
        #expect(try file.read(count: 4096, at: 0) == Array(bytes[..<4096]))
        let staging = mounts.path("data/profiles/2/staging")
        func staged() throws -> OpenFile? {
            try Self.openFiles(of: mounts.daemon("bob"), below: staging, flags: O_RDWR).first {
                try UInt64($0.status().st_blocks) * 512 > 4_000_000
            }
        }
        let unfinished = try await wait(for: "the first chunk is on the disk") { try staged() }
        for place in [3_000_000, 3_900_000] as [UInt64] {
            try unfinished.write(try unfinished.read(count: 1, at: place).map { $0 ^ 1 }, at: place)
        }
        // The first file is read while incomplete, the second is not read.
        #expect(try file.read(count: 4096, at: 3_000_000) == Array(bytes[3_000_000..<3_004_096]))
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path("bob/alice/film.bin")]).succeeded)
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        try await mounts.mount("bob")
        #expect(try mounts.state("bob/alice/film.bin") == "stored")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
    }

    /// Files that a process has open, with or without a name.
    private static func openFiles(
        of process: RunningProcess, below folder: String, flags: Int32 = O_RDONLY
    ) throws -> [OpenFile] {
        let descriptors = "/proc/\(process.processIdentifier)/fd"
        return try PrivateFolder.names(in: OpenFile(descriptors, flags: O_RDONLY)).compactMap { name in
            var target = [UInt8](repeating: 0, count: 4096)
            let length = target.withUnsafeMutableBytes {
                readlink(
                    descriptors + "/" + name, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
            let path = String(decoding: target.prefix(max(0, length)), as: UTF8.self)
            // A stopped daemon does not answer for its own mountpoint.
            guard path.hasPrefix(folder), path != folder + "/bob",
                try OpenFile.regular(descriptors + "/" + name) != nil
            else { return nil }
            return try OpenFile(descriptors + "/" + name, flags: flags)
        }
    }

    private static func bytesOnDisk(of process: RunningProcess, below folder: String) throws -> UInt64 {
        try openFiles(of: process, below: folder).reduce(0) {
            $0 + UInt64(try $1.status().st_blocks) * 512
        }
    }

    @Test("a swapped chunk fails with EBADMSG alone")
    func swapped() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let bytes = TwoMounts.bytes(10_000_000)
        try mounts.write(bytes, to: "alice/bob/nine.bin")
        try await mounts.waitForState("sent", of: "alice/bob/nine.bin")
        // Swaps the two small chunks at its end.
        let folder = mounts.path("relay/chunks")
        let chunks = try mounts.folder.names(in: "relay/chunks")
        let bySize = try Dictionary(grouping: chunks) {
            try OpenFile(folder + "/" + $0, flags: O_RDONLY).size()
        }
        let small = try #require(bySize[1 << 20])
        #expect(small.count == 2)
        #expect(rename(folder + "/" + small[0], folder + "/other") == 0)
        #expect(rename(folder + "/" + small[1], folder + "/" + small[0]) == 0)
        #expect(rename(folder + "/other", folder + "/" + small[1]) == 0)
        try await mounts.mount("bob")
        try await mounts.waitForFile("bob/alice/nine.bin")
        let file = try OpenFile(mounts.path("bob/alice/nine.bin"), flags: O_RDONLY)
        #expect(try file.read(count: 100_000, at: 0) == Array(bytes[..<100_000]))
        for start: UInt64 in [9_000_000, 9_900_000] {
            #expect { _ = try file.read(count: 1000, at: start) } throws: { error in
                (error as? SystemError)?.code == EBADMSG
            }
        }
        let says = try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("bob/alice/nine.bin"))
        #expect(says?.contains("hunk") == true, "\(says ?? "nothing")")
    }

    @Test("a second read comes from the kernel's pages")
    func again() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(6_000_000)
        try await mounts.send(bytes, as: "film.bin")
        // Its pages are filled before the file is complete.
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        let script = """
            import json, os, sys, time
            mount, name, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
            def requests():
                time.sleep(0.1)
                return json.load(open(mount + "/.chatfs/status.json"))["requests"]
            fd = os.open(mount + name, os.O_RDONLY)
            def more():
                first, second = requests(), requests()
                got = 0
                for position in range(0, size, 131072): got += len(os.pread(fd, 131072, position))
                third = requests()
                assert got == size, got
                return (third - second) - (second - first)
            # Asking makes requests too, and what happened a moment ago may make one more.
            print(min(more() for _ in range(5)))
            """
        let outcome = try await Shell.run(
            "python3", ["-c", script, mounts.path("bob"), "/alice/film.bin", "\(bytes.count)"])
        #expect(outcome.output == "0\n", "\(outcome.output)\(outcome.errors)")
    }
}
