import Base
import CLinux

/// Gives memory back to the system when many small things have gone: the allocator keeps it for the next ones
/// otherwise, for as long as the process lives. Any thread.
public final class FreeMemory: Sendable {
    private let count = Lock(0, rank: .innermost)
    private let maxGone: Int

    /// - Parameter maxGone: how many may go before it is done.
    public init(after maxGone: Int) { self.maxGone = maxGone }

    /// One of them has gone.
    public func noteGone() {
        let isTime = count.withLock { count in
            count += 1
            guard count >= maxGone else { return false }
            count = 0
            return true
        }
        // Some milliseconds, and nothing else may allocate in an arena meanwhile.
        if isTime { ThreadPool.shared.submit { chatfs_give_back_memory() } }
    }
}
