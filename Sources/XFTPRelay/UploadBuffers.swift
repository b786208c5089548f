import Base

/// The memory in which uploads gather what they write: so many buffers for the whole relay and no more,
/// however many uploads wait for their clients.
final class UploadBuffers: Sendable {
    static let size = 128 << 10
    private let free: Lock<Int>

    init(count: Int = 128) { free = Lock(count, rank: .innermost) }

    /// A buffer of its own for who asks, or nil when all are in use.
    func take() -> Buffer? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Buffer(of: self) : nil
    }

    /// Memory of `size` bytes that belongs to one upload and goes with it.
    final class Buffer {
        // Only the upload that took it touches it, on the thread of its connection.
        let memory: UnsafeMutableRawBufferPointer
        private let owner: UploadBuffers

        fileprivate init(of owner: UploadBuffers) {
            self.owner = owner
            memory = .allocate(byteCount: UploadBuffers.size, alignment: 64)
        }

        deinit {
            memory.deallocate()
            owner.free.withLock { $0 += 1 }
        }
    }
}
