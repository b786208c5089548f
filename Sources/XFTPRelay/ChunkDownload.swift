import Base
import Cryptography
import Network
import Posix

/// The answer to FGET: the block, then the chunk encrypted for this one request, then the tag. The
/// chunk is read from disk into the connection's own buffer and encrypted there.
final class ChunkDownload: BodySource {
    private struct State {
        var given = 0
        var box: StreamBox
        /// What of the tag is still to be given, once the chunk has gone.
        var tag: [UInt8] = []
    }

    let length: Int
    private let block: [UInt8]
    private let file: OpenFile
    private let size: Int
    private let state: Lock<State>

    init(block: [UInt8], file: OpenFile, size: UInt32, box: StreamBox) {
        self.block = block
        self.file = file
        self.size = Int(size)
        length = block.count + self.size + StreamBox.tagLength
        state = Lock(State(box: box))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        // One thread at a time by the contract of bodies; the lock only shows it to the compiler.
        try state.withLock { state in
            let count = try give(&state, buffer)
            state.given += count
            return count
        }
    }

    private func give(_ state: inout State, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if state.given < block.count {
            return copy(block, from: state.given, to: buffer)
        }
        let position = state.given - block.count
        guard position < size else {
            if state.tag.isEmpty { state.tag = state.box.tag() }
            return copy(state.tag, from: position - size, to: buffer)
        }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, size - position)])
        guard try file.read(into: piece, at: UInt64(position)) == piece.count else {
            throw RelayError(.folder, "A chunk on disk is shorter than its record says.")
        }
        state.box.seal(piece)
        return piece.count
    }

    private func copy(_ bytes: [UInt8], from start: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - start)
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
        }
        return count
    }
}
