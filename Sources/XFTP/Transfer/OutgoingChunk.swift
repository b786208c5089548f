import Base
import Cryptography
import Posix

/// A chunk of an upload and its memory. On the way to a far relay, the memory is released as soon as the connection has
/// read all of it, a round trip before the confirmation. If the relay needs the chunk again, it is produced again.
///
/// No task waits for memory while it holds some, so repeated chunks cannot deadlock.
final class OutgoingChunk: Sendable {
    private struct State {
        /// nil after another chunk took the memory.
        var buffer: ChunkBuffer?
        /// The SHA-256, once computed.
        var digest: [UInt8]?
        /// Whether the whole-file digest includes the chunk.
        var isDigested = false
        /// Whether a connection has read all of it in the present attempt.
        var isRead = false
        var mayLeaveEarly = false

        /// Returns memory that is no longer needed.
        mutating func leave() -> ChunkBuffer? {
            guard mayLeaveEarly, isRead, isDigested else { return nil }
            defer { buffer = nil }
            return buffer
        }
    }

    /// The index in the file, from 0.
    let index: Int
    /// The length in bytes.
    let count: Int
    private let producer: any ChunkProduction
    private let pool: ChunkBufferPool
    private let state: Lock<State>

    /// - Parameter buffer: A buffer of `pool` that `producer` filled with this chunk.
    init(_ index: Int, in buffer: ChunkBuffer, of producer: any ChunkProduction, pool: ChunkBufferPool) {
        self.index = index
        self.producer = producer
        self.pool = pool
        count = buffer.count
        state = Lock(State(buffer: buffer))
    }

    /// Returns the SHA-256 of the chunk, computed on a pool thread. FNEW fixes it.
    func digest() async throws(XFTPError) -> [UInt8] {
        if let digest = state.withLock({ $0.digest }) { return digest }
        let buffer = try await memory()
        let digest = await ThreadPool.shared.run { SHA256.hash(UnsafeRawBufferPointer(buffer.bytes)) }
        state.withLock { $0.digest = digest }
        return digest
    }

    /// Returns the filled memory for one attempt. Produces the chunk again if the memory was released.
    /// - Throws: `.cancelled`; `.source` if the file cannot be read or changed.
    func memory() async throws(XFTPError) -> ChunkBuffer {
        let there = state.withLock { state in
            state.isRead = false
            return state.buffer
        }
        if let there { return there }
        let buffer = try await pool.take()
        do throws(XFTPError) {
            let digest = state.withLock { $0.digest }
            try await ThreadPool.shared.run { [producer, index] () throws(XFTPError) in
                try producer.produceAgain(index, into: buffer)
                guard SHA256.hash(UnsafeRawBufferPointer(buffer.bytes)) == digest else {
                    throw XFTPError(.source, "The file changed after its upload began.")
                }
            }
        } catch {
            pool.give(buffer)
            throw error
        }
        state.withLock { $0.buffer = buffer }
        return buffer
    }

    /// Allows releasing the memory before the confirmation, for a far relay. The last chunk keeps it because of the
    /// tag.
    func leaveEarly() {
        guard index < producer.sizes.count - 1 else { return }
        change { $0.mayLeaveEarly = true }
    }

    /// Called after a connection has read the last byte.
    func wasRead() { change { $0.isRead = true } }

    /// Called after the whole-file digest has read the chunk.
    func wasDigested() { change { $0.isDigested = true } }

    /// Releases the memory, if it is still held.
    func end() {
        let buffer = state.withLock { state in
            defer { state.buffer = nil }
            return state.buffer
        }
        if let buffer { pool.give(buffer) }
    }

    private func change(_ body: (inout State) -> Void) {
        let left = state.withLock { state in
            body(&state)
            return state.leave()
        }
        if let left { pool.give(left) }
    }
}
