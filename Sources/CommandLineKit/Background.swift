import CLinux
import Glibc
import Posix

/// Continues a command in a background process: `mount --background` returns once the mount is ready, or with its
/// error.
///
/// `start` must be called in a command's `begin`, on the only thread of the process. A child has no copy of its
/// parent's threads, and a started Swift runtime would wait for them for ever.
public struct Background: Sendable {
    private let pipe: OpenFile

    /// Forks; only the child returns. The parent exits with 0 once the child is ready, or with the child's exit code if
    /// it ends before. The child shares standard error until it is ready.
    /// - Throws: As pipe(2) and fork(2).
    public static func start() throws(SystemError) -> Background {
        var ends: [Int32] = [0, 0]
        try check("make a pipe") { chatfs_pipe(&ends) }
        let child = try check("start a background process") { fork() }
        guard child == 0 else {
            close(ends[1])
            waitUntilReady(ends[0], child)
        }
        close(ends[0])
        // A new session, so that no terminal can signal it.
        setsid()
        return Background(pipe: OpenFile(adopting: ends[1]))
    }

    /// Lets the parent exit, and releases its terminal and current directory.
    /// - Throws: An error of releasing them, or EPIPE if the parent is gone.
    public func ready() throws(SystemError) {
        let null = try OpenFile("/dev/null", flags: O_RDWR)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            try check("leave the terminal") { dup2(null.descriptor, descriptor) }
        }
        try check("leave the current folder") { chdir("/") }
        var byte: UInt8 = 1
        try check("report to the starter") { write(pipe.descriptor, &byte, 1) }
    }

    private static func waitUntilReady(_ descriptor: Int32, _ child: pid_t) -> Never {
        var byte: UInt8 = 0
        if let count = try? check("wait for the child", { read(descriptor, &byte, 1) }), count == 1 {
            _exit(0)
        }
        // The pipe closed early: the child has ended.
        var status: Int32 = 0
        _ = try? check("wait for the child") { waitpid(child, &status, 0) }
        _exit(status & 0x7f == 0 && status >> 8 != 0 ? status >> 8 & 0xff : ExitCode.failure.value)
    }
}
