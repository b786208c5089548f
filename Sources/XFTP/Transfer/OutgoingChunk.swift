import Base
import Cryptography
import Posix

/// A chunk of an upload and the memory that it has: filled when it was made, and, on the way to a relay far away,
/// given back as soon as all of it was read by the connection. The confirmation is a round trip later, in which
/// another chunk can have the memory; should the relay want this one once more, it is made again.
///
/// Nobody waits for memory while holding some, so that chunks which are made again never wait for each other.
final class OutgoingChunk: Sendable {
    private struct State {
        /// Nil while another chunk has it.
        var buffer: ChunkBuffer?
        /// The digest of the whole file has gone over it.
        var isDigested = false
        /// A connection has read all of it, in its present attempt.
        var isRead = false
        var mayLeaveEarly = false

        /// The memory that nobody needs any more.
        mutating func leave() -> ChunkBuffer? {
            guard mayLeaveEarly, isRead, isDigested else { return nil }
            defer { buffer = nil }
            return buffer
        }
    }

    /// Its place in the file, from 0 on.
    let index: Int
    /// Bytes.
    let count: Int
    private let producer: ChunkProducer
    private let pool: ChunkBufferPool
    private let state: Lock<State>
    /// SHA-256, from `digest` on.
    private let known = Lock<[UInt8]?>(nil)

    /// - Parameter buffer: of `pool`, filled by `producer` with this chunk.
    init(_ index: Int, in buffer: ChunkBuffer, of producer: ChunkProducer, pool: ChunkBufferPool) {
        self.index = index
        self.producer = producer
        self.pool = pool
        count = buffer.count
        state = Lock(State(buffer: buffer))
    }

    /// SHA-256 of the chunk, which a relay pins when it makes the record of it. On a pool thread.
    func digest() async throws(XFTPError) -> [UInt8] {
        if let digest = known.withLock({ $0 }) { return digest }
        let buffer = try await memory()
        let digest = await ThreadPool.shared.run { SHA256.hash(UnsafeRawBufferPointer(buffer.bytes)) }
        known.withLock { $0 = digest }
        return digest
    }

    /// The filled memory for one attempt: what is there, or filled once more. Throws `.cancelled`, and `.source`
    /// when the file cannot be read or is not the same any more.
    func memory() async throws(XFTPError) -> ChunkBuffer {
        let there = state.withLock { state in
            state.isRead = false
            return state.buffer
        }
        if let there { return there }
        let buffer = try await pool.take()
        do throws(XFTPError) {
            let digest = known.withLock { $0 }
            try await ThreadPool.shared.run { [producer, index] () throws(XFTPError) in
                try producer.produceAgain(index, into: buffer)
                guard SHA256.hash(UnsafeRawBufferPointer(buffer.bytes)) == digest else {
                    throw XFTPError(.source, "The file is not the same any more as when its upload began.")
                }
            }
        } catch {
            pool.give(buffer)
            throw error
        }
        state.withLock { $0.buffer = buffer }
        return buffer
    }

    /// Its relay is far away: the memory may go before the confirmation. The last chunk keeps it, since the tag of
    /// the whole is in it.
    func leaveEarly() {
        guard index < producer.sizes.count - 1 else { return }
        change { $0.mayLeaveEarly = true }
    }

    /// A connection has read the last byte, and asks for none any more.
    func wasRead() { change { $0.isRead = true } }

    /// The digest of the whole file has it.
    func wasDigested() { change { $0.isDigested = true } }

    /// Nothing needs it any more, whether it is there or not.
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
