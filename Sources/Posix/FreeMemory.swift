import CLinux
import Synchronization

/// Returns memory to the system after many small deallocations; the allocator would keep it. Safe to use from any
/// thread.
public final class FreeMemory: Sendable {
    private let count = Atomic(0)
    private let maxGone: Int

    /// - Parameter maxGone: The number of deallocations between two returns.
    public init(after maxGone: Int) { self.maxGone = maxGone }

    /// Counts a deallocation.
    public func noteGone() {
        let isTime = count.wrappingAdd(1, ordering: .relaxed).newValue % maxGone == 0
        // Takes some milliseconds, during which other threads cannot allocate in an arena.
        if isTime { ThreadPool.shared.submit { chatfs_give_back_memory() } }
    }
}
