import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Other processes, programs and this one")
struct ProcessesTests {
    @Test("a process is held by a descriptor: told of its end, and signalled only while it is itself")
    func other() async throws {
        let child = try await ChildProcess.start(.init("/bin/sleep", ["1000"]))
        let other = try OtherProcess(child.identifier)
        #expect(other.process == child.identifier)
        #expect(!other.hasEnded(within: .zero))
        other.send(SIGTERM)
        let hasEnded = await ThreadPool.shared.run { other.hasEnded(within: .seconds(90)) }
        #expect(hasEnded)
        #expect(await child.ending(within: .seconds(90)) == .signal(SIGTERM))
        // Reaped: its number may be another's, which is not meant.
        other.send(SIGKILL)
        #expect(other.hasEnded(within: .zero))
        #expect(throws: SystemError(code: ESRCH, operation: "watch a process")) {
            try OtherProcess(child.identifier)
        }
    }

    @Test("a wait of less than a second is one")
    func shortWaits() async throws {
        let child = try await ChildProcess.start(.init("/bin/sleep", ["1000"]))
        let other = try OtherProcess(child.identifier)
        let waited = await ThreadPool.shared.run {
            ContinuousClock().measure { #expect(!other.hasEnded(within: .milliseconds(200))) }
        }
        #expect(waited >= .milliseconds(200))
        // Longer than a wait of the kernel may be.
        child.send(SIGKILL)
        let hasEnded = await ThreadPool.shared.run { other.hasEnded(within: .seconds(Int64.max)) }
        #expect(hasEnded)
    }

    @Test("a program is found as a shell finds it: the first that may be run, and no folder of its name")
    func search() throws {
        let folder = try TemporaryFolder()
        let folders = try ["a", "b", "c", "d"].map(folder.makeFolder)
        // A folder, a file that may not be run, a program, another one.
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
        // A link to a program is one, a link to nothing is none.
        symlink(folders[2] + "/tool", folders[0] + "/linked")
        symlink(folders[2] + "/none", folders[0] + "/broken")
        #expect(ProgramSearch.path(of: "linked", in: folders) == folders[0] + "/linked")
        #expect(ProgramSearch.path(of: "broken", in: folders) == nil)
    }

    @Test("of PATH only absolute folders count: the present one is anybody's")
    func searchPath() async {
        await #expect(processExitsWith: .success) {
            setenv("PATH", "relative:/one::.:/two:", 1)
            precondition(ProgramSearch.folders() == ["/one", "/two"])
            unsetenv("PATH")
            precondition(ProgramSearch.folders() == ["/usr/local/bin", "/usr/bin", "/bin"])
            precondition(ProgramSearch.path(of: "sh")?.hasSuffix("/sh") == true)
        }
    }

    @Test("what this program was started with is known without a file")
    func arguments() {
        #expect(ProgramArguments.all == CommandLine.arguments)
        #expect(!ProgramArguments.all.isEmpty)
    }

    @Test("a thread has its name and meets no signal")
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
        // KILL and STOP cannot be blocked, two real-time signals belong to the C library.
        for signal in 1...31 where signal != SIGKILL && signal != SIGSTOP {
            #expect(mask & 1 << UInt64(signal - 1) != 0, "signal \(signal)")
        }
    }

    @Test("a stop signal waits for who asks for it, also one that a parent had ignored")
    func stopSignals() async {
        #expect(Signals.stopping == [SIGINT, SIGTERM, SIGHUP])
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            Signals.prepare()
            for number in [SIGTERM, SIGHUP, SIGINT] {
                raise(number)
                precondition(Signals.waitForStop() == number)
            }
            // Neither a reader that has gone nor a file that may not grow ends the process.
            raise(SIGPIPE)
            raise(SIGXFSZ)
        }
    }

    @Test("a process that stays leaves no dump, and closes new files to others")
    func hardening() async {
        await #expect(processExitsWith: .success) {
            umask(0)
            ProcessHardening.apply()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            precondition(limit.rlim_cur == 0 && limit.rlim_max == 0)
            precondition(umask(0) == 0o077)
            // The files of a process that may not be dumped are root's.
            var status = stat()
            precondition(stat("/proc/self/status", &status) == 0 && status.st_uid == 0)
        }
    }

    @Test("the limit of open files goes up as far as it may, and never down")
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
