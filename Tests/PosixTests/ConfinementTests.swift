import Glibc
import Posix
import TestSupport
import Testing

/// A child that works on bytes of strangers can neither change nor reach anything.
@Suite struct ConfinementTests {
    private func run(_ script: String, memory: UInt = 256 << 20) async throws -> (ChildProcess.Ending, String)
    {
        var settings = ChildProcess.Settings("/bin/sh", ["-c", script])
        settings.confinement = ChildProcess.Confinement(mostMemory: memory, mostSeconds: 1)
        let process = try await RunningProcess.start(settings)
        return (try await process.ending(), process.output)
    }

    private func python(_ program: String) async throws -> String {
        try await run("exec python3 -c '\(program)' 2>&1 | tail -n 1").1
    }

    @Test func itReadsAndWritesToItsStreams() async throws {
        #expect(try await run("cat /proc/self/comm").1 == "cat\n")
    }

    @Test func itChangesNoFile() async throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "there")
        for line in [
            "echo >new", "echo >>there", "rm -f there", "mv there away", "mkdir made", "ln -s x link",
            "ln there hard", "chmod 777 there", "touch -d @0 there", "truncate -s 0 there",
            "chown 65534 there",
        ] {
            let (ending, _) = try await run("cd \(folder.path) && \(line) 2>/dev/null")
            #expect(ending != .code(0), "\(line)")
        }
        #expect(try folder.names() == ["there"])
        #expect(try folder.read("there") == [1])
        var status = stat()
        #expect(lstat(folder.path("there"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func itReachesNoNetwork() async throws {
        for family in ["AF_INET", "AF_INET6", "AF_UNIX"] {
            let words = try await python("import socket; socket.socket(socket.\(family))")
            #expect(words.contains("Operation not permitted"), "\(words)")
        }
    }

    @Test func itTouchesNoOtherProcess() async throws {
        let other = try await ChildProcess.start(.init("/bin/sleep", ["100"]))
        #expect(try await run("kill -9 \(other.identifier) 2>/dev/null").0 != .code(0))
        #expect(other.endingIfEnded() == nil)
    }

    @Test func itGainsNoPrivileges() async throws {
        #expect(try await run("grep NoNewPrivs /proc/self/status").1 == "NoNewPrivs:\t1\n")
    }

    @Test func itGetsNoMoreMemoryThanGiven() async throws {
        #expect(try await python("b = bytearray(300 << 20)").contains("MemoryError"))
        #expect(try await python("b = bytearray(1 << 20); print(len(b))") == "1048576\n")
    }

    @Test func itIsEndedWhenItComputesTooLong() async throws {
        #expect(try await run("while :; do :; done").0 == .signal(SIGKILL))
    }
}
