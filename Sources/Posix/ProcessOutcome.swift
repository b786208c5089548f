import CLinux
import Glibc

/// The result of a process, as far as others can know.
public enum ProcessOutcome: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// It ended with an unknown result: Linux before 6.15, or another user's process.
    case unknown

    /// - Parameter waitStatus: The status of wait(2).
    public init(waitStatus: Int32) {
        self =
            chatfs_signalled(waitStatus) != 0
            ? .signalled(chatfs_terminating_signal(waitStatus)) : .exited(chatfs_exit_code(waitStatus))
    }
}
