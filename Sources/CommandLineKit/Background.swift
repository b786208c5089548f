import CLinux
import Glibc
import Posix

/// A process that goes on behind its starter: `mount --background` comes back when the mount is
/// ready, or with the error that kept it from being so.
///
/// Call `start` from a command's `begin`, on the only thread of the process: the threads of a parent
/// do not exist in its child, and a Swift runtime that had started some would wait for them for ever.
public struct Background: Sendable {
    private let pipe: OpenFile

    /// Forks. Only the child returns. The parent waits until the child is ready and ends with 0, or
    /// ends with the child's exit code when it ends first; the child's complaints are on the same
    /// standard error until it is ready.
    /// - Throws: as pipe(2) and fork(2).
    public static func start() throws(SystemError) -> Background {
        var ends: [Int32] = [0, 0]
        try check("make a pipe") { chatfs_pipe(&ends) }
        let child = try check("start a background process") { fork() }
        guard child == 0 else {
            close(ends[1])
            waitUntilReady(ends[0], child)
        }
        close(ends[0])
        // A session of its own: no terminal can stop or kill it.
        setsid()
        return Background(pipe: OpenFile(adopting: ends[1]))
    }

    /// Lets the starter go on, and lets go of its terminal and folder.
    /// - Throws: where it cannot let go of them, or its starter is gone (EPIPE).
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
        // The pipe closed without a word: the child has ended.
        var status: Int32 = 0
        _ = try? check("wait for the child") { waitpid(child, &status, 0) }
        _exit(status & 0x7f == 0 && status >> 8 != 0 ? status >> 8 & 0xff : ExitCode.failure.value)
    }
}
