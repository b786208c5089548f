import Base

/// A fixed number of buffers in which uploads collect their writes.
final class UploadBuffers: Sendable {
    static let size = 128 << 10
    private let buffers: Budget

    init(count: UInt64 = 128) { buffers = Budget(limit: count) }

    /// Returns a free buffer, or nil if all are in use.
    func take() -> Buffer? { buffers.take() ? Buffer(of: self) : nil }

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
            owner.buffers.giveBack()
        }
    }
}
