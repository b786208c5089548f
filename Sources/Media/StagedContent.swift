import ChatCore
import Cryptography
import Glibc
import Posix

/// The plaintext of a message's staged file: a CryptoFile or a plain file.
enum StagedContent {
    /// Returns a reader of the content. Blocks.
    static func reader(of message: ComposedMessage) throws -> SharedContent {
        guard let file = try OpenFile.regular(message.source.path) else { throw NotRegular() }
        guard let arguments = message.source.arguments else {
            return { offset, count in try file.read(count: count, at: offset) }
        }
        // The core verifies the tag; changed bytes would only give another preview.
        let reader = try CryptoFileReader(file: file, arguments: arguments, isTrusted: true)
        return { offset, count in
            try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = try reader.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
        }
    }

    /// Writes `size` bytes of `content` to a program's standard input, on a thread that may block.
    static func send(_ content: SharedContent, size: UInt64, to input: OpenFile) throws {
        var position: UInt64 = 0
        while position < size {
            let piece = try content(position, 256 << 10)
            guard !piece.isEmpty else { throw Shortened() }
            try input.send(piece)
            position += UInt64(piece.count)
        }
    }

    /// Returns a file in memory with `size` bytes of `content`. Blocks.
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

    /// The path is a pipe or device, which might block forever.
    private struct NotRegular: Error {}

    /// The file is shorter than expected.
    private struct Shortened: Error {}
}
