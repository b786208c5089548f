import Base

/// A fixed number of buffers in which uploads collect their writes.
final class UploadBuffers: Sendable {
    static let size = 128 << 10
    private let free: Lock<Int>

    init(count: Int = 128) { free = Lock(count, rank: .innermost) }

    /// Returns a free buffer, or nil if all are in use.
    func take() -> Buffer? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Buffer(of: self) : nil
    }

    /// Memory of `size` bytes for one upload, freed with it.
    final class Buffer {
        // Only the upload's thread accesses it.
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
