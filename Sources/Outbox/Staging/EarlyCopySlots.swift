import Base

/// Limits concurrent early copies. Each needs two descriptors and 512 KiB. No I/O.
final class EarlyCopySlots: Sendable {
    /// Minimum size of a draft in bytes; shorter ones are copied quickly at the end.
    let minSize: UInt64
    /// Bytes by which a copy may lag.
    let step: UInt64
    private let copies: Budget

    init(count: UInt64 = 4, minSize: UInt64 = 4 << 20, step: UInt64 = 1 << 20) {
        self.minSize = minSize
        self.step = step
        copies = Budget(limit: count)
    }

    /// Returns false if none is free.
    func acquire() -> Bool { copies.take() }

    func release() { copies.giveBack() }
}
