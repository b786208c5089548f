import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

/// The ends of other processes, as their watchers see them.
@Suite struct WatchedProcessTests {
    /// A child that ends as `ending` says after a line of input, and is reaped at once.
    private func child(_ ending: String) async throws -> RunningProcess {
        var settings = ChildProcess.Settings(try Shell.find("sh"), ["-c", "echo up; read line; \(ending)"])
        settings.input = .pipe
        let process = try await RunningProcess.start(settings)
        try await process.line("that it runs") { $0 == "up" }
        return process
    }

    private func outcome(_ ending: String) async throws -> ProcessOutcome? {
        let child = try await child(ending)
        let watched = try WatchedProcess(child.processIdentifier)
        let told = Lock(false)
        watched.whenEnded(1) { told.withLock { $0 = true } }
        #expect(watched.outcome == nil && watched.end == nil)
        try child.child.input?.send(Array("go\n".utf8))
        try await child.ending()
        try await wait(until: "its end is told") { told.withLock { $0 } }
        #expect(watched.end != nil)
        return watched.outcome
    }

    @Test(arguments: [0, 1, 18, 255] as [Int32])
    func exitStatusIsTold(status: Int32) async throws {
        #expect([.exited(status), .unknown].contains(try await outcome("exit \(status)")))
    }

    @Test(arguments: ["INT": SIGINT, "TERM": SIGTERM, "KILL": SIGKILL])
    func signalIsTold(name: String, number: Int32) async throws {
        #expect([.signalled(number), .unknown].contains(try await outcome("kill -\(name) $$; sleep 9")))
    }

    @Test func listenersOfEndedProcessAreCalledAtOnce() async throws {
        let child = try await child("exit 3")
        let watched = try WatchedProcess(child.processIdentifier)
        try child.child.input?.send(Array("go\n".utf8))
        try await child.ending()
        try await wait(until: "its end is seen") { watched.outcome != nil }
        let calls = Lock(0)
        watched.whenEnded(1) { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func aMissingProcessCannotBeWatched() {
        #expect(throws: SystemError.self) { try WatchedProcess(.max) }
    }

    @Test func aZombieHasItsExitStatus() async throws {
        // On every kernel, because it is not reaped.
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                """
                import os, sys
                child = os.fork()
                if child == 0:
                    os._exit(18)
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
                print(child, flush=True)
                sys.stdin.read()
                """,
            ])
        settings.input = .pipe
        let parent = try await RunningProcess.start(settings)
        let child = try #require(pid_t(try await parent.line("its child")))
        #expect(try WatchedProcess(child).outcome == .exited(18))
        #expect(ProcessEnding.exitCode(ofEnded: getpid()) == nil)
        parent.send(SIGKILL)
    }
}

@Suite struct SignalStateTests {
    private func bits(_ signals: Int32...) -> UInt64 { signals.reduce(0) { $0 | 1 << UInt64($1 - 1) } }

    /// As measured of dd (SA_RESETHAND), rsync and busy programs.
    @Test func masksShowASignalHandler() {
        let dd = SignalState(caught: 0x202)
        #expect(SignalState(caught: 0x200).isHandlingSignal(since: dd))
        #expect(!dd.isHandlingSignal(since: dd))
        let rsync = SignalState(caught: bits(SIGUSR1, SIGINT, SIGTERM))
        var inHandler = rsync
        inHandler.blocked = 0x200
        #expect(inHandler.isHandlingSignal(since: rsync))
        // Always blocked, as in threads that handle no signals.
        #expect(!inHandler.isHandlingSignal(since: inHandler))
        // Blocked without a handler, and a handler of a harmless signal.
        #expect(!SignalState(blocked: bits(SIGINT)).isHandlingSignal(since: SignalState()))
        let child = SignalState(caught: bits(SIGCHLD, SIGWINCH))
        #expect(!SignalState(blocked: bits(SIGCHLD)).isHandlingSignal(since: child))
        #expect(!child.catchesEndingSignal && dd.catchesEndingSignal)
    }

    @Test func statusOfAThreadIsRead() throws {
        let text =
            "Name:\ta b:c\nUmask:\t0022\nTgid:\t42\nPid:\t43\nSigBlk:\t0000000000000200\nSigCgt:\t0000000000000202\n"
        let status = try #require(ThreadStatus(text))
        #expect(status.process == 42 && status.name == "a b:c")
        #expect(status.signals == SignalState(blocked: 0x200, caught: 0x202))
        #expect(ThreadStatus("") == nil && ThreadStatus("Tgid:\tx\n") == nil)
        #expect(ThreadStatus(of: getpid())?.process == getpid())
        #expect(ThreadStatus(of: 0) == nil && ThreadStatus(of: .max) == nil)
    }

    @Test func pipesOfAProcessAreFound() throws {
        let pipe = try #require(Pipe())
        let found = ProcessPipes.identifiers(of: getpid())
        var status = stat()
        fstat(pipe.reading, &status)
        #expect(found.contains("pipe:[\(status.st_ino)]"))
        #expect(ProcessPipes.identifiers(of: .max).isEmpty && ProcessPipes.identifiers(of: 0).isEmpty)
        #expect(ProcessPipes.writers(intoInputOf: .max).isEmpty)
        #expect(ProcessPipes.writers(intoInputOf: 0).isEmpty)
    }

    private final class Pipe {
        let reading: Int32
        private let writing: Int32

        init?() {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { return nil }
            (reading, writing) = (ends[0], ends[1])
        }

        deinit {
            close(reading)
            close(writing)
        }
    }

    @Test func pipelineIsSeenFromItsEnd() async throws {
        let shell = try await RunningProcess.start(
            ChildProcess.Settings("/bin/sh", ["-c", "sleep 60 | sleep 60 | sleep 60"]))
        let group = shell.processIdentifier
        defer { kill(-group, SIGKILL) }
        try await wait(until: "the pipeline runs") {
            let members = ProcessInformation.processes().filter { getpgid($0) == group && $0 != group }
            let writers = members.map { ProcessPipes.writers(intoInputOf: $0) }
            return members.count == 3 && writers.map(\.count).sorted() == [0, 1, 1]
                && Set(writers.joined()).isSubset(of: members)
        }
    }
}
