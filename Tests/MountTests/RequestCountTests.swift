import Glibc
import Posix
import TestSupport
import Testing

@Suite("What the kernel answers itself", .serialized)
struct RequestCountTests {
    private static func count(_ mounts: TwoMounts) throws -> Int {
        let file = try OpenFile(mounts.path("bob/.chatfs/status.json"), flags: O_RDONLY)
        let text = String(decoding: try file.read(count: 1 << 16, at: 0), as: UTF8.self)
        let digits = try #require(text.firstMatch(of: /"requests" : (\d+)/)).1
        return try #require(Int(digits))
    }

    @Test(
        "a file that was read and looked at is read and looked at again without asking the mount, which counts"
    )
    func warm() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(3_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let path = mounts.path("bob/alice/film.bin")
        let file = try OpenFile(path, flags: O_RDONLY)
        #expect(try file.read(count: bytes.count, at: 0) == bytes)
        try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
        var status = stat()
        lstat(path, &status)

        // Asking is some requests itself, and the last of them may come late: the bounds leave room for that.
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
}
