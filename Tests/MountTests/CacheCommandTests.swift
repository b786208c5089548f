import Glibc
import Posix
import TestSupport
import Testing

@Suite("What lies decrypted, by command", .serialized)
struct CacheCommandTests {
    private func chatfs(_ arguments: String...) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(arguments)
    }

    @Test("a file is received, given up, pinned, and at hand again after a remount")
    func wishes() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(6_000_000)
        try await mounts.send(bytes, as: "film.bin")
        try await mounts.send(TwoMounts.bytes(300_000, seed: 2), as: "other.bin")
        let film = mounts.path("bob/alice/film.bin")
        #expect(try mounts.state("bob/alice/film.bin") == "remote")

        let hydrated = try await chatfs("hydrate", mounts.path("bob/alice"))
        #expect(hydrated.succeeded, "\(hydrated.errors)")
        #expect(try mounts.state("bob/alice/film.bin") == "hydrated")
        #expect(try mounts.state("bob/alice/other.bin") == "hydrated")
        // Kept for good: the relay is not needed any more.
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        #expect(try await chatfs("dehydrate", film).succeeded)
        #expect(try mounts.state("bob/alice/film.bin") == "stored")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)

        #expect(try await chatfs("pin", film).succeeded)
        let refused = try await chatfs("dehydrate", film)
        #expect(refused.ending == .code(1) && refused.errors.contains("pinned"), "\(refused.errors)")
        #expect(try await chatfs("cache", "clear", mounts.path("bob")).succeeded)
        #expect(try mounts.state("bob/alice/film.bin") == "hydrated")
        #expect(try mounts.state("bob/alice/other.bin") == "stored")
        let shown = try await chatfs("cache", "show", mounts.path("bob"))
        #expect(shown.output.contains("1 file at hand, 1 pinned"), "\(shown.output)\(shown.errors)")

        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
        #expect(try mounts.state("bob/alice/other.bin") == "stored")
        #expect(try await chatfs("unpin", film).succeeded)
        #expect(try await chatfs("dehydrate", film).succeeded)
        #expect(try mounts.state("bob/alice/film.bin") == "stored")
        let elsewhere = try await chatfs("hydrate", mounts.folder.path)
        #expect(elsewhere.ending == .code(1) && elsewhere.errors.contains("not on a mount"))
    }

    @Test("every mode of the cache serves the same bytes", arguments: ["sealed", "plain", "memory"])
    func modes(mode: String) async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let bytes = TwoMounts.bytes(9_000_000)
        try await mounts.mount("bob", ["--cache", mode, "--cache-size", "8mb", "--cache-min-free", "1mb"])
        try await mounts.send(bytes, as: "film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
        #expect(try await chatfs("dehydrate", mounts.path("bob/alice/film.bin")).succeeded)
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        let shown = try await chatfs("cache", "show", mounts.path("bob"))
        #expect(shown.output.contains("(\(mode)), at most 8"), "\(shown.output)\(shown.errors)")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }
}
