import Glibc
import Posix
import TestSupport
import Testing

@Suite("Requests saved by the kernel's caches", .serialized)
struct RequestCountTests {
    private static func count(_ mounts: TwoMounts) throws -> Int {
        let file = try OpenFile(mounts.path("bob/.chatfs/status.json"), flags: O_RDONLY)
        let text = String(decoding: try file.read(count: 1 << 16, at: 0), as: UTF8.self)
        let digits = try #require(text.firstMatch(of: /"requests" : (\d+)/)).1
        return try #require(Int(digits))
    }

    @Test(
        "repeated reads and stats cause no request"
    )
    func warm() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(3_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let path = mounts.path("bob/alice/film.bin")
        let file = try OpenFile(path, flags: O_RDONLY)
        #expect(try file.read(count: bytes.count, at: 0) == bytes)
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        var status = stat()
        lstat(path, &status)

        // The measurement itself makes requests, the last possibly late; the bounds allow for that.
        let before = try Self.count(mounts)
        let asking = try Self.count(mounts) - before
        let start = try Self.count(mounts)
        for _ in 0..<100 { #expect(lstat(path, &status) == 0) }
        #expect(try file.read(count: bytes.count, at: 0) == bytes)
        let warm = try Self.count(mounts) - start
        #expect(warm < asking + 10)
        for _ in 0..<100 { _ = try mounts.state("bob/alice/film.bin") }
        #expect(try Self.count(mounts) - start >= warm + 100)
    }

    @Test("a first listing needs no request per entry")
    func listing() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        let names = (0..<60).map { "\($0).txt" }
        for name in names { try mounts.write(Array(name.utf8), to: "alice/bob/" + name) }
        for name in names { try await mounts.waitForState("sent", of: "alice/bob/" + name) }
        try await mounts.mount("bob")
        let folder = mounts.path("bob/alice")
        let operations = ["lookup", "getattr", "readdirplus"]
        let counts = try await KernelReport.requests(of: operations, at: mounts.path("bob")) {
            let listed = try await Shell.run("ls", ["-l", folder])
            #expect(listed.output.split(separator: "\n").count == 61, "\(listed.output)\(listed.errors)")
        }
        #expect(counts[0] + counts[1] < 10 && counts[2] > 0, "\(counts)")
    }

    @Test("cached pages need no attribute request")
    func coming() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(9_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let file = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
        #expect(try file.read(count: 4096, at: 0) == Array(bytes[..<4096]))
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        try await mounts.waitForState("remote", of: "bob/alice/film.bin")
        let counts = try await KernelReport.requests(of: ["getattr", "read"], at: mounts.path("bob")) {
            for _ in 0..<4 {
                // Size and blocks stay valid for a second.
                try await Task.sleep(for: .milliseconds(1200))
                #expect(try file.read(count: 4096, at: 0) == Array(bytes[..<4096]))
            }
        }
        // Four if each read requested attributes. The measurement adds one if they just expired.
        #expect(counts[0] <= 1 && counts[1] == 0, "\(counts)")
    }
}
