import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Processes and programs")
struct ProcessesTests {
    @Test("a process descriptor survives reuse of the number")
    func other() async throws {
        let child = try await ChildProcess.start(.init("/bin/sleep", ["1000"]))
        let other = try OtherProcess(child.identifier)
        #expect(other.process == child.identifier)
        #expect(!other.hasEnded(within: .zero))
        other.send(SIGTERM)
        let hasEnded = await ThreadPool.shared.run { other.hasEnded(within: .seconds(90)) }
        #expect(hasEnded)
        #expect(await child.ending(within: .seconds(90)) == .signal(SIGTERM))
        // Reaped: its number may now belong to another process.
        other.send(SIGKILL)
        #expect(other.hasEnded(within: .zero))
        #expect(throws: SystemError(code: ESRCH, operation: "watch a process")) {
            try OtherProcess(child.identifier)
        }
    }

    @Test("short waits are not rounded to zero")
    func shortWaits() async throws {
        let child = try await ChildProcess.start(.init("/bin/sleep", ["1000"]))
        let other = try OtherProcess(child.identifier)
        let waited = await ThreadPool.shared.run {
            ContinuousClock().measure { #expect(!other.hasEnded(within: .milliseconds(200))) }
        }
        #expect(waited >= .milliseconds(200))
        // Longer than the kernel's maximum wait.
        child.send(SIGKILL)
        let hasEnded = await ThreadPool.shared.run { other.hasEnded(within: .seconds(Int64.max)) }
        #expect(hasEnded)
    }

    @Test("the first executable file in PATH is found")
    func search() throws {
        let folder = try TemporaryFolder()
        let folders = try ["a", "b", "c", "d"].map(folder.makeFolder)
        // A folder, a file without permission, a program, another one.
        mkdir(folders[0] + "/tool", 0o755)
        try folder.write([1], to: "b/tool")
        for name in ["c/tool", "d/tool"] {
            try folder.write(Array("#!/bin/sh\n".utf8), to: name)
            chmod(folder.path(name), 0o700)
        }
        #expect(ProgramSearch.path(of: "tool", in: folders) == folders[2] + "/tool")
        #expect(ProgramSearch.path(of: "tool", in: folders.reversed()) == folders[3] + "/tool")
        #expect(ProgramSearch.path(of: "tool", in: Array(folders.prefix(2))) == nil)
        #expect(ProgramSearch.path(of: "tool", in: []) == nil)
        // A link to a program counts, a link to nothing does not.
        symlink(folders[2] + "/tool", folders[0] + "/linked")
        symlink(folders[2] + "/none", folders[0] + "/broken")
        #expect(ProgramSearch.path(of: "linked", in: folders) == folders[0] + "/linked")
        #expect(ProgramSearch.path(of: "broken", in: folders) == nil)
    }

    @Test("only absolute folders of PATH count")
    func searchPath() async {
        await #expect(processExitsWith: .success) {
            setenv("PATH", "relative:/one::.:/two:", 1)
            precondition(ProgramSearch.folders() == ["/one", "/two"])
            unsetenv("PATH")
            precondition(ProgramSearch.folders() == ["/usr/local/bin", "/usr/bin", "/bin"])
            precondition(ProgramSearch.path(of: "sh")?.hasSuffix("/sh") == true)
        }
    }

    @Test("arguments are available without a file")
    func arguments() {
        #expect(ProgramArguments.all == CommandLine.arguments)
        #expect(!ProgramArguments.all.isEmpty)
    }

    @Test("a thread has a name and blocks signals")
    func thread() async throws {
        let status = Lock<String?>(nil)
        Thread.start("fifteen-letters") {
            let bytes = ProcessInformation.bytes(of: "/proc/thread-self/status")
            status.withLock { $0 = String(decoding: bytes ?? [], as: UTF8.self) }
        }
        let text = try await wait(for: "the thread") { status.withLock { $0 } }
        #expect(text.hasPrefix("Name:\tfifteen-letters\n"))
        let blocked = text.split(separator: "\n").first { $0.hasPrefix("SigBlk") }?.split(separator: "\t")
            .last
        let mask = try #require(blocked.flatMap { UInt64($0, radix: 16) })
        // KILL and STOP cannot be blocked, and the C library uses two real-time signals.
        for signal in 1...31 where signal != SIGKILL && signal != SIGSTOP {
            #expect(mask & 1 << UInt64(signal - 1) != 0, "signal \(signal)")
        }
    }

    @Test("stop signals wait, also if the parent ignored them")
    func stopSignals() async {
        #expect(Signals.stopping == [SIGINT, SIGTERM, SIGHUP])
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            Signals.prepare()
            for number in [SIGTERM, SIGHUP, SIGINT] {
                raise(number)
                precondition(Signals.waitForStop() == number)
            }
            // Neither a missing reader nor the size limit of a file ends the process.
            raise(SIGPIPE)
            raise(SIGXFSZ)
        }
    }

    @Test("a long-lived process is undumpable with private files")
    func hardening() async {
        await #expect(processExitsWith: .success) {
            umask(0)
            ProcessHardening.apply()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            precondition(limit.rlim_cur == 0 && limit.rlim_max == 0)
            precondition(umask(0) == 0o077)
            // The proc files of an undumpable process belong to root.
            var status = stat()
            precondition(stat("/proc/self/status", &status) == 0 && status.st_uid == 0)
        }
    }

    @Test("the limit of open files only rises")
    func openFiles() async {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            func limits(_ soft: rlim_t, _ hard: rlim_t) -> rlim_t {
                var limit = rlimit(rlim_cur: soft, rlim_max: hard)
                precondition(setrlimit(resource, &limit) == 0)
                ProcessHardening.allowManyOpenFiles()
                getrlimit(resource, &limit)
                precondition(limit.rlim_max == hard)
                return limit.rlim_cur
            }
            var now = rlimit()
            getrlimit(resource, &now)
            precondition(limits(256, now.rlim_max) == min(now.rlim_max, 65_536))
            if now.rlim_max > 65_537 { precondition(limits(65_537, now.rlim_max) == 65_537) }
            precondition(limits(300, 500) == 500)
        }
    }
}
