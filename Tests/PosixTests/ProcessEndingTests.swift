import Glibc
import TestSupport
import Testing

@testable import Posix

/// The end of a process, seen by another one.
@Suite struct ProcessEndingTests {
    /// A child of a Python program that ends as `ending` says and is not reaped, so its remains show its end.
    private func afterTheEnd(_ ending: String) async throws -> (process: pid_t, parent: RunningProcess) {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                """
                import os, signal, sys, threading, time
                child = os.fork()
                if child == 0:
                    \(ending)
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
                print(child, flush=True)
                sys.stdin.read()
                """,
            ])
        settings.input = .pipe
        let parent = try await RunningProcess.start(settings)
        return (try #require(pid_t(try await parent.line("its child"))), parent)
    }

    @Test(arguments: ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGSEGV"])
    func aProcessThatASignalEndsIsKilled(signal: String) async throws {
        let (process, parent) = try await afterTheEnd(
            "signal.signal(signal.\(signal), signal.SIG_DFL) if '\(signal)' != 'SIGKILL' else 0; "
                + "os.kill(os.getpid(), signal.\(signal)); time.sleep(60)")
        #expect(ProcessEnding.isKilled(process))
        parent.send(SIGKILL)
    }

    @Test(arguments: [
        "os._exit(0)", "os._exit(9)",
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); os._exit(1)",
    ])
    func aProcessThatExitsByItselfIsNot(ending: String) async throws {
        let (process, parent) = try await afterTheEnd(ending)
        #expect(!ProcessEnding.isKilled(process))
        parent.send(SIGKILL)
    }

    @Test func livingAndMissingProcessesAreNotKilled() throws {
        #expect(!ProcessEnding.isKilled(getpid()))
        #expect(!ProcessEnding.isKilled(0))
        #expect(!ProcessEnding.isKilled(-1))
        #expect(!ProcessEnding.isKilled(.max))
    }

    @Test func aThreadBelongsToItsProcess() throws {
        let threads = try PrivateFolder.names(in: OpenFile("/proc/self/task", flags: O_RDONLY))
        #expect(threads.count > 1)
        #expect(ProcessEnding.process(of: getpid()) == getpid())
        #expect(ProcessEnding.process(of: getppid()) == getppid())
        #expect(ProcessEnding.process(of: .max) == nil)
        #expect(ProcessEnding.process(of: 0) == nil)
        // Other threads come and go meanwhile.
        let found = threads.compactMap { pid_t($0).flatMap(ProcessEnding.process) }
        #expect(found.count > 1 && found.allSatisfy { $0 == getpid() })
    }

    private func status(name: String = "cp", flags: UInt32, code: Int32) -> ProcessEnding.Status? {
        let between = [String](repeating: "0", count: 52 - 10).joined(separator: " ")
        return ProcessEnding.Status("12 (\(name)) D 1 1 1 0 -1 \(flags) \(between) \(code)\n")
    }

    @Test func aKilledThreadHasBothFlagsAndASignal() throws {
        #expect(status(flags: 0x40_040C, code: 2)?.isKilled == true)
        #expect(status(flags: 0x40_040C, code: 0x8B)?.isKilled == true)
        #expect(status(name: ") 1 (x y", flags: 0x40_040C, code: 15)?.isKilled == true)
        // A thread of a program that exits by itself.
        #expect(status(flags: 0x40_040C, code: 0x100)?.isKilled == false)
        #expect(status(flags: 0x4, code: 0)?.isKilled == false)
        #expect(status(flags: 0x400, code: 2)?.isKilled == false)
        #expect(ProcessEnding.Status("12 (cp) D 1 1") == nil)
        #expect(ProcessEnding.Status("") == nil)
        #expect(status(name: "cp", flags: 0, code: 0) != nil)
    }
}
