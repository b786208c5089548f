import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// The CryptoFile that a storage pipeline writes. It has no name until it is complete and right.
///
/// Used by one thread at a time; what `readable` gives by any.
final class StorageOutput {
    /// What is written.
    private enum Writer {
        /// The content, encrypted with a key of its own.
        case content(CryptoFileWriter)
        /// The whole stream as it lies on the relays.
        case stream(CiphertextWriter)
    }

    private(set) var readable: UnfinishedCryptoFile
    private let folder: OpenFile
    private let arguments: FileArguments
    private let writer: Writer
    private var file: OpenFile
    private var hadName = false
    /// The length of the plaintext.
    private let size: UInt64
    /// How far space is reserved on the disk.
    private var reserved: UInt64 = 0

    /// One for the content alone, with a key of its own.
    init(in folder: String, contentSize: UInt64) throws {
        size = contentSize
        self.folder = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        file = try Self.makeFile(in: self.folder)
        arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(file: file, arguments: arguments, makesTags: true)
        guard let tags = writer.tags else { preconditionFailure("a writer that makes tags has none") }
        readable = try UnfinishedCryptoFile(file: file, arguments: arguments, tags: tags)
        self.writer = .content(writer)
    }

    /// One for the whole stream as it comes.
    /// - Parameter arguments: those of the file on the relays, with the place of the content.
    init(in folder: String, streamSize: UInt64, arguments: FileArguments) throws {
        size = streamSize
        self.folder = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        file = try Self.makeFile(in: self.folder)
        self.arguments = arguments
        let writer = CiphertextWriter(file: file, arguments: arguments)
        readable = try UnfinishedCryptoFile(file: file, arguments: arguments, tags: writer.tags)
        self.writer = .stream(writer)
    }

    private static func makeFile(in folder: OpenFile) throws -> OpenFile {
        OpenFile(adopting: try check("make a file") { chatfs_open_unnamed(folder.descriptor) })
    }

    /// Takes all of `bytes`, at most 256 KiB, or nothing: content, or the stream as it lies on the relays.
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        switch writer {
        case .content(let writer): try writer.append(bytes)
        case .stream(let writer): try writer.append(bytes)
        }
    }

    /// What was appended can be read.
    func flush() throws {
        switch writer {
        case .content(let writer): try writer.flush()
        case .stream(let writer): writer.flush()
        }
    }

    private var position: UInt64 {
        switch writer {
        case .content(let writer): writer.position
        case .stream(let writer): writer.position
        }
    }

    /// Writes bytes to their place once more, where the disk did not keep them: content, which is changed, or the
    /// stream as it lies on the relays.
    func repair(_ bytes: UnsafeMutableRawBufferPointer, at position: UInt64) throws {
        switch writer {
        case .content: try readable.mend(bytes, at: position)
        case .stream: try readable.mend(ciphertext: UnsafeRawBufferPointer(bytes), at: position)
        }
    }

    /// Tells the disk to begin, so that little is left for the end. Reserves space for a little more, which makes
    /// writing it a third cheaper; not where the disk is short.
    func beginWritingBack() {
        file.beginWritingBack()
        let written = position
        let end = min(size, written + Self.ahead)
        guard written > Self.ahead, reserved < min(end, written + Self.minAhead),
            // For speed only: a disk that cannot is as good as one that is short.
            let free = try? file.availableBytes(), free > Self.ample,
            (try? file.reserve(max(reserved, written)..<end)) != nil
        else { return }
        reserved = end
    }

    private static let ahead: UInt64 = 32 << 20
    private static let minAhead: UInt64 = 8 << 20
    private static let ample: UInt64 = 1 << 30

    /// Makes the file durable under `path`, after what lies on the disk was read back and found to be what was
    /// written: `DamagedBlocks` when it is not. May be called again when the one who was to take it did not.
    /// - Throws: `XFTPError.damaged` for a stream that is not the one that its sender encrypted.
    func finish(at path: String) throws -> FileArguments {
        if case .content(let writer) = writer { try writer.finish() }
        // A file that had a name and lost it gets no other.
        if hadName {
            file = try Self.makeFile(in: folder)
            readable = try readable.copy(to: file)
            hadName = false
        }
        try file.synchronise()
        try confirm()
        try check("give a file its name") {
            linkat(AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
        hadName = true
        return arguments
    }

    /// Reads the file back. The tag of a stream proves what its sender encrypted and what the disk kept in one pass;
    /// the tags of blocks say where the disk did not.
    private func confirm() throws {
        let isStream = if case .stream = writer { true } else { false }
        if isStream, try readable.isAuthentic() { return }
        let damage = try readable.damage()
        guard damage.isEmpty else { throw DamagedBlocks(ranges: damage) }
        // Once more, for a disk that had erred in passing.
        guard try !isStream || readable.isAuthentic() else {
            throw XFTPError(
                .damaged, "Each chunk is valid, but together they are not the file that was sent.")
        }
    }
}

/// The content of a file as far as its CryptoFile has been written.
struct WrittenContent: Sendable {
    let file: UnfinishedCryptoFile
    /// Where the content lies in the stream.
    let content: Range<UInt64>
    /// The part of the stream that the file holds.
    let span: Range<UInt64>

    /// Fills the buffer from a position of the stream on; false outside of the content. Blocks on the disk.
    func read(into buffer: UnsafeMutableRawBufferPointer, at position: UInt64) throws -> Bool {
        let range = position..<position + UInt64(buffer.count)
        guard content.clamped(to: range) == range else { return false }
        try file.read(into: buffer, at: position - span.lowerBound)
        return true
    }

    /// The part of the stream that proves itself together with a range of content: whole blocks, of which one begins
    /// with the content.
    func blocks(around range: Range<UInt64>) -> Range<UInt64> {
        let size = UInt64(BlockTags.blockSize)
        let part = range.clamped(to: content)
        guard !part.isEmpty else { return range }
        let first = (part.lowerBound - content.lowerBound) / size * size
        let last = (part.upperBound - content.lowerBound + size - 1) / size * size
        return content.lowerBound + first..<min(content.lowerBound + last, span.upperBound)
    }
}

/// Places in a file that the disk did not keep as they were written.
struct DamagedBlocks: Error {
    let ranges: [Range<UInt64>]
}

/// Chunks that went into the CryptoFile and are not in it any more: they are to be fetched again.
struct DamagedChunks: Error {
    let chunks: [Int]
}
