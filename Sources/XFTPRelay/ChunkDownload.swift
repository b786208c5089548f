import Cryptography
import Network
import Posix

/// The response to FGET: the block, the chunk encrypted for this request, and the tag. Reads the chunk from disk into
/// the connection's buffer and encrypts it in place.
final class ChunkDownload: BodySource, @unchecked Sendable {
    // Safe: only the connection's thread changes state.
    private var box: StreamBox
    /// Computed after the chunk was sent.
    private var tag: [UInt8] = []

    let length: Int
    private let block: [UInt8]
    private let file: OpenChunk
    private let size: Int

    init(block: [UInt8], file: OpenChunk, size: UInt32, box: StreamBox) {
        self.block = block
        self.file = file
        self.size = Int(size)
        length = block.count + self.size + StreamBox.tagLength
        self.box = box
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        if offset < block.count {
            return copy(block, from: offset, to: buffer)
        }
        let position = offset - block.count
        guard position < size else {
            if tag.isEmpty { tag = box.tag() }
            return copy(tag, from: position - size, to: buffer)
        }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, size - position)])
        guard try file.read(into: piece, at: UInt64(position)) == piece.count else {
            throw RelayError(.folder, "A chunk on disk is shorter than its record.")
        }
        box.seal(piece)
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
