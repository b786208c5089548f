import Glibc
import Posix
import TestSupport
import Testing

@testable import CommandLineKit

/// Each in its own process, which forks.
@Suite("Background processes", .timeLimit(.minutes(10)))
struct BackgroundTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("the parent exits with 0 once ready")
    func ready() async throws {
        let report = folder.path("report")
        await #expect(processExitsWith: .success) { [report = report as String] in
            let starter = getpid()
            let background = try Background.start()
            precondition(getpid() != starter && getsid(0) == getpid(), "it has a session of its own")
            try background.ready()
            var place = [CChar](repeating: 0, count: 64)
            precondition(getcwd(&place, 64) != nil && place[0] == 0x2F && place[1] == 0)
            for descriptor in STDIN_FILENO...STDERR_FILENO {
                var status = stat()
                precondition(fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
            }
            // The parent has exited or exits now; this process continues.
            try OpenFile(report, flags: O_WRONLY | O_CREAT).write([1], at: 0)
            _exit(9)
        }
        try await wait(until: "it has gone on") { (try? folder.read("report")) == [1] }
    }

    @Test("an early end passes on its code", arguments: [1, 77, 255])
    func code(number: Int32) async {
        switch number {
        case 1: await #expect(processExitsWith: .exitCode(1)) { try end(1) }
        case 77: await #expect(processExitsWith: .exitCode(77)) { try end(77) }
        default: await #expect(processExitsWith: .exitCode(255)) { try end(255) }
        }
    }

    @Test("an early end without a code is failure")
    func killed() async {
        await #expect(processExitsWith: .exitCode(1)) {
            _ = try Background.start()
            kill(getpid(), SIGKILL)
        }
        await #expect(processExitsWith: .exitCode(1)) { try end(0) }
    }

    @Test("a killed parent is reported to its child")
    func orphan() async throws {
        let report = folder.path("report")
        await #expect(processExitsWith: .signal(SIGKILL)) { [report = report as String] in
            signal(SIGPIPE, SIG_IGN)
            let starter = getpid()
            let background = try Background.start()
            kill(starter, SIGKILL)
            while getppid() == starter { usleep(1000) }
            var code: Int32 = 0
            do throws(SystemError) { try background.ready() } catch { code = error.code }
            try OpenFile(report, flags: O_WRONLY | O_CREAT).write([UInt8(code)], at: 0)
            _exit(0)
        }
        try await wait(until: "it was told") { (try? folder.read("report")) == [UInt8(EPIPE)] }
    }
}

/// In the background process: exits at once.
private func end(_ code: Int32) throws {
    _ = try Background.start()
    _exit(code)
}
