import Glibc
import Posix
import TestSupport
import Testing

@Suite("Relay outages", .serialized)
struct RelayOutageTests {
    @Test("reads succeed when the relay is back")
    func restart() async throws {
        let mounts = try await TwoMounts.start()
        let sent = try await Shell.script(
            "head -c 30000000 /dev/urandom > source && cp source alice/bob/far.bin && sha256sum < source",
            folder: mounts.folder.path)
        #expect(sent.succeeded, "\(sent.errors)")
        try await mounts.waitForState("sent", of: "alice/bob/far.bin")
        try await mounts.waitForFile("bob/alice/far.bin")
        let script = """
            import hashlib, os, sys, time
            descriptor = os.open(sys.argv[1], os.O_RDONLY)
            def read(count, offset):
                while True:
                    try:
                        return os.pread(descriptor, count, offset)
                    except OSError as error:
                        print("failed", error.errno, flush=True)
                        time.sleep(0.2)
            read(1000, 0)
            print("begun", flush=True)
            sys.stdin.readline()
            assert len(read(1000, 29_000_000)) == 1000
            print("went on", flush=True)
            sys.stdin.readline()
            digest = hashlib.sha256()
            for offset in range(0, 30_000_000, 1_000_000): digest.update(read(1_000_000, offset))
            print(digest.hexdigest(), flush=True)
            """
        var settings = ChildProcess.Settings(
            try Shell.find("python3"), ["-c", script, mounts.path("bob/alice/far.bin")])
        settings.input = .pipe
        let reader = try await RunningProcess.start(settings)
        try await reader.line("that it has begun") { $0 == "begun" }
        // With open connections and chunks in transfer.
        var outages = [ContinuousClock.now]
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        goOn(reader)
        // Long enough for a wrong reply.
        try await Task.sleep(for: .milliseconds(500))
        #expect(reader.isRunning && !reader.output.contains("went on"), "\(reader.errors)")
        try await mounts.startRelay()
        outages.append(.now)
        try await reader.line("that it went on") { $0 == "went on" }
        // And with requests that the relay received but does not answer.
        outages.append(.now)
        mounts.relay.send(SIGSTOP)
        goOn(reader)
        // The requests lie in the stopped relay's sockets, invisible from outside.
        try await Task.sleep(for: .milliseconds(500))
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        try await mounts.startRelay()
        outages.append(.now)
        #expect(try await reader.ending() == .code(0), "\(reader.errors)")
        #expect(reader.lines.last == String(sent.output.prefix(64)))
        // On a busy machine the outage may exceed the maximum wait: four seconds if the relay refuses connections.
        let longest = max(outages[1] - outages[0], outages[3] - outages[2])
        let failures = reader.lines.filter { $0.hasPrefix("failed") }
        #expect(failures == [] || longest > .seconds(3), "away for \(longest)")
    }

    /// Sends the line for which the reader waits.
    private func goOn(_ reader: RunningProcess) {
        #expect(write(reader.child.input?.descriptor ?? -1, "\n", 1) == 1)
    }

    @Test("a stopped relay does not delay others")
    func twoRelays() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        let other = try await ChatFSProcess.start(["relay", "--dir", mounts.path("other relay")])
        let address = try await other.line("its address") { $0.hasPrefix("xftp://") }
        try await mounts.run(["profile", "create", "carol", "--relay", address])
        try await mounts.run(["connect", "carol", "bob"])
        let bytes = TwoMounts.bytes(600_000)
        let source = try mounts.folder.write(bytes, to: "file.bin")
        for name in ["alice", "carol"] { try await mounts.run(["send", source, "bob", "--profile", name]) }
        try await mounts.mount("bob", ["--relay", address])
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        let waiting = try await RunningProcess.start(
            ChildProcess.Settings(try Shell.find("cksum"), [mounts.path("bob/alice/file.bin")]))
        try await mounts.waitForState("receiving", of: "bob/alice/file.bin")
        #expect(try mounts.read("bob/carol/file.bin") == bytes)
        #expect(waiting.isRunning)
        mounts.relay.send(SIGCONT)
        #expect(try await waiting.ending() == .code(0))
        let sum = try await Shell.run("cksum", [source])
        #expect(waiting.output.split(separator: " ").first == sum.output.split(separator: " ").first)
        #expect(try await mounts.leave("bob") == .code(0))
        try await other.terminate()
    }
}
