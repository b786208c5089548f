import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Child processes")
struct ChildProcessTests {
    @Test("arguments and output are unchanged")
    func arguments() async throws {
        let outcome = try await Shell.run("/bin/echo", ["a b", "", "$HOME", "ü"])
        #expect(outcome.ending == .code(0))
        #expect(outcome.output == "a b  $HOME ü\n")
    }

    @Test("output, errors and exit code are separate")
    func streams() async throws {
        let outcome = try await Shell.script("echo out; echo err >&2; exit 7")
        #expect(outcome.ending == .code(7))
        #expect(outcome.output == "out\n")
        #expect(outcome.errors == "err\n")
    }

    @Test("a missing program is an error")
    func missing() async {
        await #expect(throws: SystemError(code: ENOENT, operation: "start nothing-here")) {
            try await ChildProcess.start(.init("/usr/bin/nothing-here"))
        }
    }

    @Test("the environment has the requested changes")
    func environment() async throws {
        setenv("CHATFS_TEST_REMOVED", "x", 1)
        let outcome = try await Shell.script(
            "echo \"$CHATFS_TEST_ADDED-${CHATFS_TEST_REMOVED-gone}-${PATH:+path}\"",
            environment: ["CHATFS_TEST_ADDED": "yes", "CHATFS_TEST_REMOVED": nil])
        #expect(outcome.output == "yes-gone-path\n")
    }

    @Test("a child has only its three streams open")
    func descriptors() async throws {
        let own = open("/dev/null", O_RDONLY)
        defer { close(own) }
        // 3 is the folder that ls reads.
        let outcome = try await Shell.run("/bin/ls", ["/proc/self/fd"])
        #expect(outcome.output == "0\n1\n2\n3\n")
    }

    @Test("signals start blocked or ignored as requested")
    func signals() async throws {
        var settings = ChildProcess.Settings("/bin/cat", ["/proc/self/status"])
        settings.ignoredSignals = [SIGINT]
        settings.blockedSignals = [SIGTERM]
        let process = try await RunningProcess.start(settings)
        try await process.ending()
        // The C library reserves the two lowest real-time signals.
        let masks = process.lines.filter { $0.hasPrefix("SigBlk") || $0.hasPrefix("SigIgn") }
            .map { UInt64($0.suffix(16), radix: 16).map { $0 & 0x7fff_ffff } }
        #expect(masks == [1 << 14, 1 << 1])
    }

    @Test("a released child is killed and reaped")
    func noOrphans() async throws {
        var process: RunningProcess? = try await .start(.init("/bin/sleep", ["1000"]))
        let identifier = try #require(process?.processIdentifier)
        #expect(kill(identifier, 0) == 0)
        process = nil
        try await wait(until: "the child is gone") { kill(identifier, 0) == -1 && errno == ESRCH }
    }

    @Test("a signal to the group reaches grandchildren")
    func group() async throws {
        let process = try await RunningProcess.start(
            .init("/bin/sh", ["-c", "sleep 1000 & echo $!; wait"]))
        let grandchild = try #require(pid_t(try await process.line("the grandchild's number")))
        process.sendToGroup(SIGKILL)
        #expect(try await process.ending() == .signal(SIGKILL))
        // Reaped by init at some time; a zombie until then.
        try await wait(until: "the grandchild has ended") {
            guard let file = try? OpenFile("/proc/\(grandchild)/stat", flags: O_RDONLY) else { return true }
            let text = String(decoding: (try? file.read(count: 256, at: 0)) ?? [], as: UTF8.self)
            return text.isEmpty || text.contains(") Z ")
        }
    }

    @Test("a wait has a limit")
    func bounded() async throws {
        let process = try await RunningProcess.start(.init("/bin/sleep", ["1000"]))
        await #expect(throws: WaitedInVain.self) { try await process.ending(within: .milliseconds(20)) }
        #expect(process.child.endingIfEnded() == nil)
        #expect(try await process.terminate() == .signal(SIGTERM))
        #expect(process.child.endingIfEnded() == .signal(SIGTERM))
    }
}
