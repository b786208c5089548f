import Base
import Cryptography
import Glibc

/// Decrypts the next bytes of a sequential reader of a stored file while the kernel and the reader process
/// the previous reply. The kernel requests 128 KiB at a time, and the next only when the reader reaches them,
/// so otherwise decryption and reader would wait for each other and use one processor.
///
/// Holds a few pieces per file. A read never waits for a piece: it takes the finished part and decrypts the
/// rest. Thread-safe.
final class DecryptedAhead: Sendable {
    private struct State {
        /// End and length of the last read, and the number of sequential reads before it.
        var end: UInt64 = 0
        var length = 0
        var run = 0
        /// In order, without gaps.
        var pieces: [Piece] = []
    }

    /// Maximum bytes of a piece, and bytes between two checks that it is still wanted. Each block is
    /// authenticated as a whole.
    private static let maxLength = 256 << 10
    private static let step = BlockTags.blockSize
    /// Sequential reads after which the next one is expected to be sequential.
    private static let minRun = 2
    /// Pieces ahead of the reader. More did not help on two processors.
    private static let maxPieces = 2

    private let state = Lock(State())

    enum Found {
        /// The complete range, in its own memory.
        case whole(any ReadyBytes)
        /// Number of bytes copied to the start of the buffer.
        case copied(Int)
    }

    /// Returns decrypted bytes for a read at `offset`.
    func take(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Found {
        let (piece, ready) = state.withLock { state -> (Piece?, Int) in
            state.run = offset == state.end ? state.run + 1 : 0
            state.end = offset + UInt64(buffer.count)
            state.length = buffer.count
            if state.pieces.first?.start != offset {
                state.pieces = []
                return (nil, 0)
            }
            let piece = state.pieces.removeFirst()
            // The next piece starts at the expected end of this one.
            if piece.memory.count != buffer.count { state.pieces = [] }
            return (piece, min(piece.ready, buffer.count))
        }
        guard let piece, ready > 0 else { return .copied(0) }
        // Saves a copy: 4 to 9 % of a sequential read.
        if ready == buffer.count && ready == piece.memory.count { return .whole(piece) }
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.memory[..<ready]))
        return .copied(ready)
    }

    /// Drops the pieces when the reader is gone.
    func forget() {
        // Free pieces outside the lock.
        var pieces = state.withLock { state in
            defer {
                state.pieces = []
                state.run = 0
            }
            return state.pieces
        }
        pieces.removeAll()
        Piece.releaseWhenIdle()
    }

    /// Bytes of memory for pieces, over all files.
    static var bytesHeld: Int { Piece.spare.withLock { $0.made * maxLength } }

    /// Decrypts the next pieces if reads are sequential. Errors are left to the reader.
    /// - Parameter decrypt: Fills a buffer from a position and returns the number of bytes.
    func prepare(decrypt: (UnsafeMutableRawBufferPointer, UInt64) throws -> Int) {
        while let piece = begin() {
            guard make(piece, decrypt) else { return }
        }
    }

    private func begin() -> Piece? {
        state.withLock { state in
            let wanted = min(state.run - Self.minRun + 1, Self.maxPieces)
            guard state.pieces.count < wanted,
                let piece = Piece(
                    start: state.pieces.last?.end ?? state.end, count: min(state.length, Self.maxLength))
            else { return nil }
            state.pieces.append(piece)
            return piece
        }
    }

    /// Returns false if the piece is no longer wanted or the content ended.
    private func make(
        _ piece: Piece, _ decrypt: (UnsafeMutableRawBufferPointer, UInt64) throws -> Int
    ) -> Bool {
        var made = 0
        while made < piece.memory.count {
            let part = UnsafeMutableRawBufferPointer(
                rebasing: piece.memory[made..<min(made + Self.step, piece.memory.count)])
            // A reader of this place gets the same error.
            guard let count = try? decrypt(part, piece.start + UInt64(made)), count == part.count else {
                return false
            }
            made += count
            let isWanted = state.withLock { state in
                guard state.pieces.contains(where: { $0 === piece }) else { return false }
                piece.ready = made
                return true
            }
            guard isWanted else { return false }
        }
        return true
    }

    /// Bytes from `start`, of which `ready` are decrypted.
    private final class Piece: ReadyBytes, @unchecked Sendable {
        // Safe: `ready` is accessed only under the file's lock. Bytes before it are only read; bytes behind
        // it are written by the one thread that decrypts the piece.
        let start: UInt64
        let memory: UnsafeMutableRawBufferPointer
        var ready = 0
        var end: UInt64 { start + UInt64(memory.count) }
        var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
        private let pages: Memory

        /// Memory of pieces, over all files.
        fileprivate struct Spare {
            /// Memory of earlier pieces.
            var idle: [Memory] = []
            var made = 0
            /// True if a reader has gone since the last piece was created.
            var isReleased = false

            /// Returns all memory if it should be freed and no piece uses any.
            mutating func takeReleased() -> [Memory] {
                guard isReleased, idle.count == made else { return [] }
                defer { (idle, made) = ([], 0) }
                return idle
            }
        }

        fileprivate static let spare = Lock(Spare(), rank: .innermost)
        /// Maximum number of pieces; further readers get none.
        private static let maxPieces = 24

        fileprivate struct Memory: @unchecked Sendable {
            // Safe: owned by the list or by one piece.
            let bytes: UnsafeMutableRawBufferPointer
        }

        init?(start: UInt64, count: Int) {
            guard count > 0 else { return nil }
            let found: Memory? = Self.spare.withLock { spare in
                spare.isReleased = false
                if let idle = spare.idle.popLast() { return idle }
                guard spare.made < Self.maxPieces else { return nil }
                spare.made += 1
                return Memory(bytes: .allocate(byteCount: maxLength, alignment: 4096))
            }
            guard let found else { return nil }
            self.start = start
            pages = found
            memory = UnsafeMutableRawBufferPointer(rebasing: found.bytes[..<count])
        }

        deinit {
            Self.release { spare in spare.idle.append(pages) }
        }

        /// Frees decrypted memory when no reader is sequential, at the latest after the reply in progress.
        /// Freeing it with each piece would allocate it again between two replies and cost a third of the
        /// speed.
        static func releaseWhenIdle() {
            release { $0.isReleased = true }
        }

        private static func release(after change: (inout Spare) -> Void) {
            let released = spare.withLock { spare in
                change(&spare)
                return spare.takeReleased()
            }
            for memory in released {
                if let start = memory.bytes.baseAddress { explicit_bzero(start, memory.bytes.count) }
                memory.bytes.deallocate()
            }
        }
    }
}
