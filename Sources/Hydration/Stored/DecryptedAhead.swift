import Base
import Cryptography
import Glibc

/// What a sequential reader of a stored file will ask for next, decrypted while the kernel and the reader are
/// still busy with the answer before. The kernel asks for 128 KiB at a time, and for the next only when the
/// reader has come to these, so without this the reader waits for every decryption, and all but one of the
/// processors for the reader.
///
/// A few pieces for each file. Nobody waits: who comes for a piece that is not complete takes what is ready
/// and makes the rest itself. Any thread.
final class DecryptedAhead: Sendable {
    private struct State {
        /// Where the last read ended, its length, and how many before it went on where another ended.
        var end: UInt64 = 0
        var length = 0
        var run = 0
        /// In order, without gaps.
        var pieces: [Piece] = []
    }

    /// Bytes that are made ahead at most, and between two looks whether somebody has come for them: a block
    /// proves itself as a whole.
    private static let maxLength = 256 << 10
    private static let step = BlockTags.blockSize
    /// Reads in order after which the next is expected to be in order too.
    private static let minRun = 2
    /// Pieces ahead. More gained nothing on two processors.
    private static let maxPieces = 2

    private let state = Lock(State())

    enum Found {
        /// All of it, where it was made.
        case whole(any ReadyBytes)
        /// So many bytes, copied to the beginning of the buffer.
        case copied(Int)
    }

    /// A read at `offset`: what of it is ready.
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
            // The next one begins where this one was expected to end.
            if piece.memory.count != buffer.count { state.pieces = [] }
            return (piece, min(piece.ready, buffer.count))
        }
        guard let piece, ready > 0 else { return .copied(0) }
        // A copy less: 4 to 9 % of a sequential read.
        if ready == buffer.count && ready == piece.memory.count { return .whole(piece) }
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.memory[..<ready]))
        return .copied(ready)
    }

    /// Nobody reads on.
    func forget() {
        // Pieces give their memory back outside the lock.
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

    /// Memory for pieces, over all files.
    static var bytesHeld: Int { Piece.spare.withLock { $0.made * maxLength } }

    /// Makes the next pieces, if somebody reads on: `decrypt` fills a buffer from a position and answers how
    /// many bytes there were. What fails is left to the reader who comes.
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

    /// False when nobody wants it any more, or there is nothing more.
    private func make(
        _ piece: Piece, _ decrypt: (UnsafeMutableRawBufferPointer, UInt64) throws -> Int
    ) -> Bool {
        var made = 0
        while made < piece.memory.count {
            let part = UnsafeMutableRawBufferPointer(
                rebasing: piece.memory[made..<min(made + Self.step, piece.memory.count)])
            // Whoever reads this place meets the same error, and is told.
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

    /// The bytes from `start` on, as far as they are ready.
    private final class Piece: ReadyBytes, @unchecked Sendable {
        // Safe: `ready` is touched only under the lock of the file. Bytes in front of it are only read, those
        // behind it are written by the one thread that makes the piece.
        let start: UInt64
        let memory: UnsafeMutableRawBufferPointer
        var ready = 0
        var end: UInt64 { start + UInt64(memory.count) }
        var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
        private let pages: Memory

        /// Memory of pieces, over all files.
        fileprivate struct Spare {
            /// That was used before.
            var idle: [Memory] = []
            var made = 0
            /// Somebody has gone since the last piece was begun.
            var isReleased = false

            /// All of it, when it is to go and no piece has any.
            mutating func takeReleased() -> [Memory] {
                guard isReleased, idle.count == made else { return [] }
                defer { (idle, made) = ([], 0) }
                return idle
            }
        }

        fileprivate static let spare = Lock(Spare(), rank: .innermost)
        /// For so many pieces at once; other readers go without.
        private static let maxPieces = 24

        fileprivate struct Memory: @unchecked Sendable {
            // Safe: in the list or in the hands of one piece.
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

        /// When nobody reads ahead any more, nothing decrypted stays; at the latest after the answer that is just
        /// going out. Not with every piece: between two answers there may be none, and its memory would be
        /// fetched anew (a third of the speed).
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
