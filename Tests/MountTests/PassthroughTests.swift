import Glibc
import Posix
import TestSupport
import Testing

@Suite("Passthrough", .serialized)
struct PassthroughTests {
    private static let size = 6_000_000
    private static let bytes = TwoMounts.bytes(size)

    /// Bob with a plain cache and a file from alice that he read once.
    private static func stage(reading: Bool = true) async throws -> (TwoMounts, film: String) {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", ["--cache", "plain"])
        try await mounts.send(bytes, as: "film.bin")
        if reading {
            #expect(try mounts.read("bob/alice/film.bin") == bytes)
            try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
            try await waitUntilStored(mounts)
        }
        return (mounts, mounts.path("bob/alice/film.bin"))
    }

    /// Waits until the received file passed its check.
    private static func waitUntilStored(_ mounts: TwoMounts) async throws {
        try await wait(until: "nothing is on its way") {
            let report = try mounts.folder.read("bob/.chatfs/transfers")
            let stored = try mounts.folder.names(in: "data/profiles/2/files")
            return report.isEmpty && stored.count == 1
        }
    }

    private static func read(_ path: String) throws -> [UInt8] {
        try OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 26)
    }

    @Test("reads of plain cached files cost no request")
    func reading() async throws {
        let (mounts, film) = try await Self.stage()
        let report = try await KernelReport.read(mounts.path("bob"))
        let status = try await ChatFSProcess.run(["status", mounts.path("bob")])
        if try KernelReport.mayPassThrough() {
            #expect(report.passesThrough || report.reason?.contains("kernel") == true, "\(report)")
        } else {
            #expect(!report.passesThrough)
            #expect(
                report.reason?.contains("kernel") == true || report.reason?.contains("CAP_SYS_ADMIN") == true)
        }
        #expect(status.output.contains("complete files are read"), "\(status.output)")
        // One warning line for the unverified cache.
        let warnings = try mounts.daemon("bob").errors.split(separator: "\n")
        #expect(warnings.count == 1 && warnings[0].contains("--cache plain"), "\(warnings)")
        if let reason = report.reason { #expect(status.output.contains(reason)) }
        let counts = try await KernelReport.requests(of: ["open", "read"], at: mounts.path("bob")) {
            for _ in 0..<3 {
                try KernelReport.dropPages(of: film)
                #expect(try Self.read(film) == Self.bytes)
            }
        }
        #expect(counts[0] == 6)
        #expect(report.passesThrough ? counts[1] == 0 : counts[1] > 3, "\(counts)")
    }

    @Test("every way of reading gives the same bytes")
    func ways() async throws {
        let (mounts, film) = try await Self.stage()
        let copies = try mounts.folder.makeFolder("copies")
        let paths = Array(repeating: film, count: Readers.count)
        let digests = try await Readers.digests(of: paths, copies: copies)
        try mounts.folder.write(Self.bytes, to: "expected")
        let expected = try await Shell.run("sha256sum", [mounts.path("expected")])
        #expect(Set(digests) == [String(expected.output.prefix(64))])
        for offset in [5_999_999, 4_194_304, 4_194_303, 65_536, 4095, 0] {
            let file = try OpenFile(film, flags: O_RDONLY)
            let read = try file.read(count: 70_000, at: UInt64(offset))
            #expect(read == Array(Self.bytes[offset..<min(offset + 70_000, Self.size)]))
            #expect(try file.read(count: 1, at: UInt64(Self.size)).isEmpty)
        }
    }

    @Test("readers before and after completion both succeed")
    func mixed() async throws {
        let (mounts, film) = try await Self.stage(reading: false)
        let early = try OpenFile(film, flags: O_RDONLY)
        #expect(try early.read(count: 10, at: 0) == Array(Self.bytes[..<10]))
        #expect(try Self.read(film) == Self.bytes)
        try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
        try await Self.waitUntilStored(mounts)
        // The early opening uses the page cache, so these do too.
        for _ in 0..<3 { #expect(try Self.read(film) == Self.bytes) }
        let late = try OpenFile(film, flags: O_RDONLY)
        #expect(try early.readAll(limit: 1 << 26) == Self.bytes)
        #expect(try late.readAll(limit: 1 << 26) == Self.bytes)
    }

    @Test("concurrent clearing of the cache loses no reader")
    func crowd() async throws {
        let (mounts, film) = try await Self.stage()
        let script = """
            import hashlib, os, random, sys, threading
            path, expected = sys.argv[1:]
            wrong = []
            def work(seed):
                dice = random.Random(seed)
                try:
                    for _ in range(60):
                        descriptor = os.open(path, os.O_RDONLY)
                        if dice.random() < 0.3:
                            digest = hashlib.sha256(os.pread(descriptor, 1 << 24, 0)).hexdigest()
                            if digest != expected: wrong.append(digest)
                        else:
                            os.pread(descriptor, 4096, dice.randrange(0, 5_000_000))
                        os.close(descriptor)
                except OSError as error:
                    wrong.append(str(error))
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert not wrong, wrong[:5]
            """
        try mounts.folder.write(Self.bytes, to: "expected")
        let expected = try await Shell.run("sha256sum", [mounts.path("expected")]).output.prefix(64)
        async let crowd = Shell.run("python3", ["-c", script, film, String(expected)], limit: .seconds(240))
        for _ in 0..<10 {
            let cleared = try await ChatFSProcess.run(["cache", "clear", mounts.path("bob")])
            #expect(cleared.succeeded, "\(cleared.errors)")
        }
        let outcome = try await crowd
        #expect(outcome.succeeded, "\(outcome.errors)")
    }

    @Test("evicted files stay readable through mappings")
    func evicted() async throws {
        let (mounts, film) = try await Self.stage()
        var held: OpenFile? = try OpenFile(film, flags: O_RDONLY)
        let refused = try await ChatFSProcess.run(["dehydrate", film])
        #expect(refused.ending == .code(1) && refused.errors.contains("open"), "\(refused.errors)")
        #expect(try held?.readAll(limit: 1 << 26) == Self.bytes)
        let mapping = try await RunningProcess.mapping(film)
        held = nil
        // Mapped pages belong to the backing file and are no opening of ours; without passthrough they are.
        if try await KernelReport.read(mounts.path("bob")).passesThrough {
            try await wait(until: "it may go") { try await ChatFSProcess.run(["dehydrate", film]).succeeded }
            #expect(try mounts.state("bob/alice/film.bin") == "stored")
        } else {
            #expect(try await ChatFSProcess.run(["dehydrate", film]).ending == .code(1))
        }
        #expect(try Self.read(film) == Self.bytes)
        mapping.send(SIGUSR1)
        try mounts.folder.write(Self.bytes, to: "expected")
        let expected = try await Shell.run("sha256sum", [mounts.path("expected")]).output.prefix(64)
        try await mapping.line("the digest of what it has mapped") { $0 == expected }
    }

    @Test("deleted messages stay readable through open handles")
    func deleted() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", ["--cache", "plain", "--delete", "self"])
        try await mounts.send(Self.bytes, as: "film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == Self.bytes)
        try await mounts.waitForState("hydrated", of: "bob/alice/film.bin")
        try await Self.waitUntilStored(mounts)
        let held = try OpenFile(mounts.path("bob/alice/film.bin"), flags: O_RDONLY)
        #expect(unlink(mounts.path("bob/alice/film.bin")) == 0)
        #expect(try mounts.folder.names(in: "bob/alice").isEmpty)
        #expect(try held.readAll(limit: 1 << 26) == Self.bytes)
    }

    @Test("unmounting never causes wrong bytes")
    func leaving() async throws {
        for signal in [SIGTERM, SIGKILL] {
            let (mounts, film) = try await Self.stage()
            var held: OpenFile? = try OpenFile(film, flags: O_RDONLY)
            _ = try held?.read(count: 4096, at: 0)
            _ = try await mounts.leave("bob", by: signal)
            // Its descriptor is gone, or the kernel's file is still right.
            if let rest = try? held?.readAll(limit: 1 << 26) { #expect(rest == Self.bytes) }
            #expect(try mounts.folder.names(in: "cache").allSatisfy { !$0.contains("blocks") })
            held = nil
            try await mounts.mount("bob", ["--cache", "plain"])
            #expect(try mounts.read("bob/alice/film.bin") == Self.bytes)
            for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        }
    }

    @Test("a sealed cache disables passthrough and says so")
    func sealed() async throws {
        let mounts = try await TwoMounts.start()
        let report = try await KernelReport.read(mounts.path("bob"))
        #expect(!report.passesThrough && report.reason == "the cache is not plain")
        #expect(try mounts.daemon("bob").errors == "")
    }

    @Test("the kernel does not request cached pages")
    func requests() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        for number in 0..<20 {
            try await mounts.send(TwoMounts.bytes(1000, seed: number), as: "\(number).bin")
        }
        let folder = mounts.path("bob/alice")
        let look = "ls -l \"$FOLDER\" >/dev/null; cat \"$FOLDER\"/*"
        _ = try await Shell.script(look, environment: ["FOLDER": folder])
        try await wait(until: "all are stored") { try mounts.folder.read("bob/.chatfs/transfers").isEmpty }
        let operations = [
            "lookup", "opendir", "releasedir", "readdir", "readdirplus", "read", "flush", "open", "release",
        ]
        let counts = try await KernelReport.requests(of: operations, at: mounts.path("bob")) {
            for _ in 0..<3 { _ = try await Shell.script(look, environment: ["FOLDER": folder]) }
        }
        #expect(counts == [0, 0, 0, 0, 0, 0, 0, 60, 60])
        // A write costs one request, without an attribute request before it.
        let writes = try await KernelReport.requests(of: ["write", "getxattr"], at: mounts.path("alice")) {
            let line = "dd if=/dev/zero of=\"$FOLDER/new.bin\" bs=4k count=50 status=none"
            _ = try await Shell.script(line, environment: ["FOLDER": mounts.path("alice/bob")])
        }
        #expect(writes[0] == 50 && writes[1] <= 2, "\(writes)")
    }
}

extension RunningProcess {
    /// A program that maps a file, closes its descriptor, and prints the SHA-256 of the mapping on SIGUSR1.
    fileprivate static func mapping(_ path: String) async throws -> RunningProcess {
        let script = """
            import ctypes, hashlib, os, signal, sys
            # Python's own mmap keeps a descriptor.
            map = ctypes.CDLL(None).mmap
            map.restype = ctypes.c_void_p
            map.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
            descriptor = os.open(sys.argv[1], os.O_RDONLY)
            size = os.fstat(descriptor).st_size
            content = (ctypes.c_char * size).from_address(map(None, size, 1, 1, descriptor, 0))
            os.close(descriptor)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            print("mapped", flush=True)
            signal.sigwait([signal.SIGUSR1])
            print(hashlib.sha256(bytes(content)).hexdigest(), flush=True)
            """
        let process = try await start(ChildProcess.Settings(try Shell.find("python3"), ["-c", script, path]))
        try await process.line("that it has mapped the file") { $0 == "mapped" }
        return process
    }
}
