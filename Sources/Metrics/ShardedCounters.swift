import Glibc
import Synchronization

/// A fixed number of counters that threads increment without a lock.
///
/// A thread adds to one of four shards, chosen by its address. Shards lie on different cache lines, so threads rarely
/// wait for each other. A sum may miss concurrent additions. Thread-safe.
public final class ShardedCounters: @unchecked Sendable {
    // Safe: only atomic operations access the memory between init and deinit.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// Words from one shard to the next.
    private let stride: Int
    /// Number of counters.
    public let count: Int

    private static let shardBits = 2
    private static let shards = 1 << shardBits
    /// Words of a cache line.
    private static let line = 64 / MemoryLayout<UInt64>.stride

    /// - Parameter count: Number of counters, each 0.
    public init(count: Int) {
        self.count = count
        stride = (count + Self.line - 1) / Self.line * Self.line
        let size = stride * Self.shards
        words = UnsafeMutableRawPointer.allocate(
            byteCount: size * MemoryLayout<Atomic<UInt64>>.stride, alignment: 64
        ).bindMemory(to: Atomic<UInt64>.self, capacity: size)
        for index in 0..<size { (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        words.deinitialize(count: stride * Self.shards)
        UnsafeMutableRawPointer(words).deallocate()
    }

    /// Adds `amount` to a counter. Wraps at 2^64.
    public func add(_ amount: UInt64 = 1, to index: Int) {
        precondition(index >= 0 && index < count, "there is no such counter")
        words[Self.shard * stride + index].wrappingAdd(amount, ordering: .relaxed)
    }

    /// Value of a counter.
    public subscript(index: Int) -> UInt64 {
        precondition(index >= 0 && index < count, "there is no such counter")
        var sum: UInt64 = 0
        for shard in 0..<Self.shards { sum &+= words[shard * stride + index].load(ordering: .relaxed) }
        return sum
    }

    /// Values of all counters.
    public var values: [UInt64] { (0..<count).map { self[$0] } }

    /// The shard of this thread. Thread addresses differ in their middle bits.
    private static var shard: Int {
        let mixed = UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> UInt64(UInt64.bitWidth - shardBits))
    }
}
