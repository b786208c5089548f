import Base
import CLinux

/// Gives memory back to the system when many small things have gone: the allocator keeps it for the next ones
/// otherwise, for as long as the process lives. Any thread.
public final class FreeMemory: Sendable {
    private let count = Lock(0)
    private let most: Int

    /// - Parameter most: how many may go before it is done.
    public init(after most: Int) { self.most = most }

    /// One of them has gone.
    public func noteGone() {
        let isTime = count.withLock { count in
            count += 1
            guard count >= most else { return false }
            count = 0
            return true
        }
        // Some milliseconds, and nothing else may allocate in an arena meanwhile.
        if isTime { ThreadPool.shared.submit { chatfs_give_back_memory() } }
    }
}
