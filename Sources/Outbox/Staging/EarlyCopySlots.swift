import Base

/// Limits concurrent early copies. Each needs two descriptors and 512 KiB. No I/O.
final class EarlyCopySlots: Sendable {
    /// Minimum size of a draft in bytes; shorter ones are copied quickly at the end.
    let minSize: UInt64
    /// Bytes by which a copy may lag.
    let step: UInt64
    private let free: Lock<Int>

    init(count: Int = 4, minSize: UInt64 = 4 << 20, step: UInt64 = 1 << 20) {
        self.minSize = minSize
        self.step = step
        free = Lock(count)
    }

    /// Returns false if none is free.
    func acquire() -> Bool {
        free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    func release() { free.withLock { $0 += 1 } }
}
