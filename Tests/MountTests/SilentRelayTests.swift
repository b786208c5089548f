import Glibc
import Posix
import TestSupport
import Testing

@Suite("An unresponsive relay", .serialized)
struct SilentRelayTests {
    @Test("400 waiting readers delay nothing else")
    func readers() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(300_000)
        let here = TwoMounts.bytes(3_000_000, seed: 2)
        try await mounts.send(here, as: "here.bin")
        #expect(try mounts.read("bob/alice/here.bin") == here)
        // Enough distinct files to exceed the kernel's default of a dozen background reads.
        let far = (0..<100).map { "far\($0).bin" }
        for name in far { try mounts.write(bytes, to: "alice/bob/" + name) }
        for name in far { try await mounts.waitForState("sent", of: "alice/bob/" + name) }
        try await mounts.waitForFiles(far, in: "bob/alice")
        // Its connections stay open and the kernel accepts new ones, without replies.
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        // Readers with default signals.
        let script = """
            import os, signal, subprocess, sys, time
            folder = sys.argv[1]
            readers = [subprocess.Popen(["cat", f"{folder}/far{i % 100}.bin"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL) for i in range(400)]
            time.sleep(1)
            def others():
                start = time.time()
                for i in range(500): os.stat(f"{folder}/here.bin")
                assert len(os.listdir(folder)) == 101
                os.statvfs(folder)
                os.getxattr(f"{folder}/far0.bin", "user.chatfs.state")
                fd = os.open(f"{folder}/here.bin", os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                assert len(os.read(fd, 3000000)) == 3000000
                os.close(fd)
                return time.time() - start
            first = others()
            # None of them had its answer when all this was answered.
            alive = [r for r in readers if r.poll() is None]
            assert len(alive) == 400, len(alive)
            for r in readers[::2]: r.send_signal(signal.SIGKILL if r.pid % 2 else signal.SIGINT)
            for r in readers[::2]: r.wait(timeout=10)
            second = others()
            assert all(r.poll() is None for r in readers[1::2])
            for r in readers[1::2]: r.kill()
            for r in readers[1::2]: r.wait(timeout=10)
            print(f"{first:.3f} {second:.3f}")
            """
        let outcome = try await Shell.run(
            "python3", ["-c", script, mounts.path("bob/alice")], limit: .seconds(90))
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(try mounts.daemon("bob").isRunning)
        mounts.relay.send(SIGCONT)
        // The downloads continued or continue now.
        for number in stride(from: 0, to: 100, by: 13) {
            let read = try await Shell.run(
                "cmp", [mounts.path("bob/alice/far\(number).bin"), mounts.path("alice/bob/far0.bin")])
            #expect(read.succeeded, "\(read.output)\(read.errors)")
        }
    }

    /// `CHATFS_DELETION_SECONDS=60` runs it for a minute.
    @Test("deletions continue and end their readers")
    func deletions() async throws {
        let seconds = getenv("CHATFS_DELETION_SECONDS").flatMap { Int(String(cString: $0)) } ?? 3
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        try await mounts.mount("bob", ["--delete", "self"])
        let far = (0..<20).map { "far\($0).bin" }
        for name in far { try mounts.write(TwoMounts.bytes(300_000), to: "alice/bob/" + name) }
        for name in far { try await mounts.waitForState("sent", of: "alice/bob/" + name) }
        let small = (0..<100 * seconds).map { "small\($0).txt" }
        for name in small { try mounts.write([1, 2, 3], to: "alice/bob/" + name) }
        let limit = Duration.seconds(120 + 4 * seconds)
        try await wait(until: "all have arrived", within: limit) {
            try mounts.folder.names(in: "bob/alice").count == far.count + small.count
        }
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        let settings = ChildProcess.Settings(
            try Shell.find("python3"), ["-c", Self.readers, mounts.path("bob/alice")])
        let readers = try await RunningProcess.start(settings)
        try await readers.line("that they read") { $0 == "reading" }
        let deleted = try await Shell.run(
            "python3", ["-c", Self.deletions, mounts.path("bob/alice")], limit: limit)
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(try mounts.folder.names(in: "bob/alice").sorted() == far.sorted())
        #expect(readers.isRunning, "they still wait: \(readers.errors)")
        for name in far { #expect(unlink(mounts.path("bob/alice/" + name)) == 0) }
        #expect(try await readers.ending(within: limit) == .code(0), "\(readers.errors)")
        #expect(try mounts.folder.names(in: "bob/alice").isEmpty)
        mounts.relay.send(SIGCONT)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    /// A hundred that wait for a byte, and four that look at everything until nothing is left.
    private static let readers = """
        import os, sys, threading
        folder = sys.argv[1]
        def read(number):
            try:
                with open(f"{folder}/far{number % 20}.bin", "rb") as file: file.read(1)
                os._exit(2)
            except TimeoutError: read(number)
            except OSError: pass
        def look():
            while names := os.listdir(folder):
                for name in names[::50]:
                    try: os.stat(f"{folder}/{name}")
                    except OSError: pass
        threads = [threading.Thread(target=read, args=(number,)) for number in range(100)]
        threads += [threading.Thread(target=look) for _ in range(4)]
        for thread in threads: thread.start()
        print("reading", flush=True)
        for thread in threads: thread.join()
        """

    /// At most a hundred per second.
    private static let deletions = """
        import os, sys, time
        folder = sys.argv[1]
        begun = time.monotonic()
        for number, name in enumerate(name for name in os.listdir(folder) if name.startswith("small")):
            time.sleep(max(0, begun + number / 100 - time.monotonic()))
            os.unlink(f"{folder}/{name}")
        """

    @Test("the daemon leaves at once, readers get errors")
    func leaving() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(600_000), as: "far.bin")
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        var settings = ChildProcess.Settings(try Shell.find("cat"), [mounts.path("bob/alice/far.bin")])
        settings.output = .null
        let readers = [try await RunningProcess.start(settings), try await RunningProcess.start(settings)]
        try await mounts.waitForState("receiving", of: "bob/alice/far.bin")
        #expect(try await mounts.leave("bob") == .code(0))
        for reader in readers { #expect(try await reader.ending() == .code(1)) }
        #expect(try MountTable.mounts(below: mounts.path("bob")).isEmpty)
    }

    @Test("a stopped relay gives EHOSTUNREACH until restarted")
    func gone() async throws {
        let mounts = try await TwoMounts.start()
        let bytes = TwoMounts.bytes(600_000)
        try await mounts.send(bytes, as: "far.bin")
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        let descriptor = open(mounts.path("bob/alice/far.bin"), O_RDONLY)
        var byte: UInt8 = 0
        #expect(descriptor >= 0)
        let code = read(descriptor, &byte, 1) == -1 ? errno : 0
        #expect(code == EHOSTUNREACH, "\(String(cString: strerror(code)))")
        // While the file is open, it is retried.
        try await wait(until: "it says when the next attempt is") {
            try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("bob/alice/far.bin"))?
                .contains("The next attempt is in ") == true
        }
        close(descriptor)
        try await mounts.startRelay()
        try await wait(until: "the file can be read") { (try? mounts.read("bob/alice/far.bin")) == bytes }
    }
}
