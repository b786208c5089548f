import Glibc
import Posix
import TestSupport
import Testing

@Suite("Cache commands", .serialized)
struct CacheCommandTests {
    private func chatfs(_ arguments: String...) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(arguments)
    }

    @Test("hydrate, dehydrate and pin survive a remount")
    func requests() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", ["--cache", "plain"])
        let bytes = TwoMounts.bytes(6_000_000)
        try await mounts.send(bytes, as: "film.bin")
        try await mounts.send(TwoMounts.bytes(300_000, seed: 2), as: "other.bin")
        let film = mounts.path("bob/alice/film.bin")
        #expect(try mounts.state("bob/alice/film.bin") == "remote")

        let hydrated = try await chatfs("hydrate", "--verbose", mounts.path("bob/alice"))
        #expect(hydrated.succeeded, "\(hydrated.errors)")
        #expect(hydrated.errors.contains("Receiving: 100%, 6.3 MB of 6.3 MB"), "\(hydrated.errors)")
        #expect(try mounts.state("bob/alice/film.bin") == "hydrated")
        #expect(try mounts.state("bob/alice/other.bin") == "hydrated")
        // A link stands for its file, not for the file with its own number.
        #expect(symlink(film, mounts.path("link")) == 0)
        let linked = try await chatfs("hydrate", mounts.path("link"))
        #expect(linked.succeeded, "\(linked.errors)")
        // The stored file needs no relay.
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
        try await mounts.mount("bob", ["--cache", "plain"])
        try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
        #expect(try mounts.state("bob/alice/other.bin") == "stored")
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: film) == "yes")
        #expect(try await chatfs("unpin", film).succeeded)
        #expect(try await chatfs("dehydrate", film).succeeded)
        #expect(try mounts.state("bob/alice/film.bin") == "stored")
        let elsewhere = try await chatfs("hydrate", mounts.folder.path)
        #expect(elsewhere.ending == .code(1) && elsewhere.errors.contains("not on a mount"))
    }

    @Test("status of a memory cache shows its limit")
    func memory() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", ["--cache", "memory"])
        try await mounts.send(TwoMounts.bytes(300_000), as: "film.bin")
        let shown = try await chatfs("cache", "show", mounts.path("bob"))
        #expect(
            shown.output.hasPrefix("the cache is in memory only, at most 67.1 MB\n"),
            "\(shown.output)")
        #expect(!shown.output.contains("disk"))
        try mounts.write([1], to: "bob/alice/being-loaded.part")
        try await mounts.waitForState("draft", of: "bob/alice/being-loaded.part")
        let hydrated = try await chatfs("hydrate", mounts.path("bob/alice"))
        #expect(hydrated.ending == .code(0), "\(hydrated.errors)")
        let named = try await chatfs("hydrate", mounts.path("bob/alice/being-loaded.part"))
        #expect(named.ending == .code(1), "\(named.errors)")
        let status = try await chatfs("status", mounts.path("bob"))
        #expect(!status.output.contains("read through ChatFS"), "\(status.output)")
    }

    @Test("dehydrate also drops the kernel's pages")
    func pages() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(3_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let film = mounts.path("bob/alice/film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        // The kernel may have reclaimed some pages; read them again.
        try await wait(until: "the kernel has all pages") {
            #expect(try mounts.read("bob/alice/film.bin") == bytes)
            return try await Self.residentPages(of: film) == (bytes.count + 4095) / 4096
        }
        try await wait(until: "it may go") { try await chatfs("dehydrate", film).succeeded }
        try await wait(until: "its pages are gone") { try await Self.residentPages(of: film) == 0 }
    }

    /// Number of resident pages of a file (mincore(2)), without a read.
    private static func residentPages(of path: String) async throws -> Int {
        let script = """
            import ctypes, os, sys
            system = ctypes.CDLL(None, use_errno=True)
            system.mmap.restype = ctypes.c_void_p
            system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
            descriptor = os.open(sys.argv[1], os.O_RDONLY)
            size = os.fstat(descriptor).st_size
            pages = (ctypes.c_ubyte * ((size + 4095) // 4096))()
            place = system.mmap(None, size, 1, 1, descriptor, 0)
            assert system.mincore(ctypes.c_void_p(place), ctypes.c_size_t(size), pages) == 0
            print(sum(page & 1 for page in pages))
            """
        let outcome = try await Shell.run("python3", ["-c", script, path])
        guard let count = Int(outcome.output.filter { !$0.isNewline }) else {
            throw WaitedInVain("mincore: \(outcome.errors)")
        }
        return count
    }

    @Test("a pinned file arrives after its relay's approval")
    func approvedLater() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        let other = try await ChatFSProcess.start(["relay", "--dir", mounts.path("other relay")])
        let address = try await other.line("its address") { $0.hasPrefix("xftp://") }
        try await mounts.run(["profile", "create", "carol", "--relay", address])
        try await mounts.run(["connect", "carol", "bob"])
        let bytes = TwoMounts.bytes(600_000)
        let source = try mounts.folder.write(bytes, to: "file.bin")
        try await mounts.run(["send", source, "bob", "--profile", "carol"])
        try await mounts.waitForFile("bob/carol/file.bin")
        let file = mounts.path("bob/carol/file.bin")
        #expect(try await chatfs("pin", file).succeeded)
        try await wait(until: "its error says what to do") {
            try ExtendedAttribute.text("user.chatfs.error", of: file)?.contains("chatfs approve") == true
        }
        #expect(try mounts.state("bob/carol/file.bin") == "remote")
        try await mounts.run(["approve", address, "--profile", "bob"])
        try await mounts.waitForState("stored", of: "bob/carol/file.bin")
        try await other.terminate()
        #expect(try mounts.read("bob/carol/file.bin") == bytes)
        #expect(try await mounts.leave("bob") == .code(0))
    }

    @Test("every cache mode serves the same bytes", arguments: ["sealed", "plain", "memory"])
    func modes(mode: String) async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let bytes = TwoMounts.bytes(9_000_000)
        try await mounts.mount("bob", ["--cache", mode, "--cache-size", "8mb", "--cache-min-free", "1mb"])
        try await mounts.send(bytes, as: "film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        // A plain copy would exceed the limit.
        try await mounts.waitForState("stored", of: "bob/alice/film.bin")
        // All bytes are local shortly before the core has stored them.
        try await wait(until: "it may go") {
            try await chatfs("dehydrate", mounts.path("bob/alice/film.bin")).succeeded
        }
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        let shown = try await chatfs("cache", "show", mounts.path("bob"))
        let place = mode == "memory" ? "in memory only" : "(\(mode))"
        #expect(shown.output.contains("\(place), at most 8"), "\(shown.output)\(shown.errors)")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }
}
