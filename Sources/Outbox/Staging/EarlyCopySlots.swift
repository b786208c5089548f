import Base

/// How many drafts are copied along at once: each holds two descriptors and half a MiB. From memory.
final class EarlyCopySlots: Sendable {
    /// Bytes of a draft from which on it is; a shorter one is copied in no time at the end.
    let minSize: UInt64
    /// Bytes that the copy may lag behind.
    let step: UInt64
    private let free: Lock<Int>

    init(count: Int = 4, minSize: UInt64 = 4 << 20, step: UInt64 = 1 << 20) {
        self.minSize = minSize
        self.step = step
        free = Lock(count)
    }

    /// False when there is none.
    func acquire() -> Bool {
        free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    func release() { free.withLock { $0 += 1 } }
}
