import CLinux
import Glibc

/// How a process has ended, as far as others can know.
public enum ProcessOutcome: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// It has ended, and nobody tells how: Linux before 6.15, or another user's.
    case unknown

    /// - Parameter waitStatus: as wait(2) gives it.
    public init(waitStatus: Int32) {
        self =
            chatfs_signalled(waitStatus) != 0
            ? .signalled(chatfs_terminating_signal(waitStatus)) : .exited(chatfs_exit_code(waitStatus))
    }
}
