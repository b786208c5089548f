import Base

/// Reuses chunk buffers, because mapping 4 MiB for each chunk costs as much as hashing it. All are freed when no chunk is
/// in use. `FetchSettings` limits that number; buffers of a silent relay are untouched memory.
final class SpareBuffers: Sendable {
    private let state = Lock((spare: [ChunkBuffer](), out: 0), rank: .innermost)
    /// Enough for the chunks that are stored while others arrive.
    private static let maxSpare = 2

    fileprivate func take(_ size: Int) -> ChunkBuffer {
        let found: ChunkBuffer? = state.withLock { state in
            state.out += 1
            guard let index = state.spare.firstIndex(where: { $0.capacity == size }) else { return nil }
            return state.spare.remove(at: index)
        }
        return found ?? ChunkBuffer(capacity: size)
    }

    fileprivate func give(_ buffer: ChunkBuffer) {
        buffer.count = 0
        // Freed outside the lock.
        let released: [ChunkBuffer] = state.withLock { state in
            state.out -= 1
            state.spare.append(buffer)
            if state.out == 0 {
                defer { state.spare = [] }
                return state.spare
            }
            return state.spare.count > Self.maxSpare ? [state.spare.removeFirst()] : []
        }
        withExtendedLifetime(released) {}
    }
}

/// A chunk in its receive buffer, which is reused after the last reference is gone.
public final class BufferedChunk: Sendable {
    public let buffer: ChunkBuffer
    private let buffers: SpareBuffers

    /// - Parameter size: The length of the chunk in bytes.
    init(_ buffers: SpareBuffers, _ size: Int) {
        self.buffers = buffers
        buffer = buffers.take(size)
    }

    deinit { buffers.give(buffer) }
}
