import ChatCore
import Cryptography
import Glibc
import Posix

/// The plaintext of a message's file as it lies staged: a CryptoFile, or a plain one.
enum StagedContent {
    /// What reads it. Blocks.
    static func reader(of message: ComposedMessage) throws -> SharedContent {
        guard let file = try OpenFile.regular(message.source.path) else { throw NotRegular() }
        guard let arguments = message.source.arguments else {
            return { offset, count in try file.read(count: count, at: offset) }
        }
        // Its tag is the core's to check: of changed bytes only the preview could be another.
        let reader = try CryptoFileReader(file: file, arguments: arguments, isTrusted: true)
        return { offset, count in
            try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = try reader.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
        }
    }

    /// Writes `size` bytes of `content` to the standard input of a program, on a thread that may block.
    static func send(_ content: SharedContent, size: UInt64, to input: OpenFile) throws {
        var position: UInt64 = 0
        while position < size {
            let piece = try content(position, 256 << 10)
            guard !piece.isEmpty else { throw Shortened() }
            try input.send(piece)
            position += UInt64(piece.count)
        }
    }

    /// A file in memory with `size` bytes of `content`. Blocks.
    static func inMemory(_ content: MediaContent, size: UInt64) throws -> OpenFile {
        let file = try OpenFile.inMemory()
        var position: UInt64 = 0
        while position < size {
            let piece = try content(position, 256 << 10)
            guard !piece.isEmpty else { throw Shortened() }
            try file.write(piece, at: position)
            position += UInt64(piece.count)
        }
        return file
    }

    /// The path is that of a pipe or device: to read it could take for ever.
    private struct NotRegular: Error {}

    /// The file has fewer bytes than it should.
    private struct Shortened: Error {}
}
