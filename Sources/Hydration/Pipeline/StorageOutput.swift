import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// The CryptoFile that a storage pipeline writes. It gets a name only when it is complete and verified.
///
/// Used by one thread at a time, except the values of `readable`.
final class StorageOutput {
    /// The form of the written file.
    private enum Writer {
        /// The content, encrypted with a fresh key.
        case content(CryptoFileWriter)
        /// The stream as encrypted on the relays.
        case stream(CiphertextWriter)
    }

    private(set) var readable: UnfinishedCryptoFile
    private let folder: OpenFile
    private let arguments: FileArguments
    private let writer: Writer
    private var file: OpenFile
    private var hadName = false
    /// Length of the plaintext in bytes.
    private let size: UInt64
    /// End of the space reserved on the disk.
    private var reserved: UInt64 = 0

    /// Creates a file for the content alone, with a fresh key.
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

    /// Creates a file for the unchanged stream.
    /// - Parameter arguments: Key and nonce on the relays, with the content's range.
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

    /// Appends at most 256 KiB, completely or not at all: content, or the encrypted stream.
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        switch writer {
        case .content(let writer): try writer.append(bytes)
        case .stream(let writer): try writer.append(bytes)
        }
    }

    /// Makes appended bytes readable.
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

    /// Rewrites bytes that the disk lost: content, which is changed, or the encrypted stream.
    func repair(_ bytes: UnsafeMutableRawBufferPointer, at position: UInt64) throws {
        switch writer {
        case .content: try readable.mend(bytes, at: position)
        case .stream: try readable.mend(ciphertext: UnsafeRawBufferPointer(bytes), at: position)
        }
    }

    /// Starts writeback, so that the final fsync is short. Reserves space ahead, which makes writes a third
    /// cheaper, unless the disk is nearly full.
    func beginWritingBack() {
        file.beginWritingBack()
        let written = position
        let end = min(size, written + Self.ahead)
        guard written > Self.ahead, reserved < min(end, written + Self.minAhead),
            // An optimisation only, so errors mean no reservation.
            let free = try? file.availableBytes(), free > Self.ample,
            (try? file.reserve(max(reserved, written)..<end)) != nil
        else { return }
        reserved = end
    }

    private static let ahead: UInt64 = 32 << 20
    private static let minAhead: UInt64 = 8 << 20
    private static let ample: UInt64 = 1 << 30

    /// Reads the file back, verifies it and makes it durable under `path`. May be called again if the file
    /// was not taken over.
    /// - Throws: `DamagedBlocks` for bytes that the disk lost; `XFTPError.damaged` for a stream that its
    ///   sender did not encrypt.
    func finish(at path: String) throws -> FileArguments {
        if case .content(let writer) = writer { try writer.finish() }
        // A file that lost its name cannot get another one.
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

    /// Reads the file back. The stream's tag verifies the sender's encryption and the disk in one pass; block
    /// tags locate damage.
    private func confirm() throws {
        let isStream = if case .stream = writer { true } else { false }
        if isStream, try readable.isAuthentic() { return }
        let damage = try readable.damage()
        guard damage.isEmpty else { throw DamagedBlocks(ranges: damage) }
        // Repeated, because the disk's error may have been transient.
        guard try !isStream || readable.isAuthentic() else {
            throw XFTPError(
                .damaged, "Each chunk is valid, but together they are not the file that was sent.")
        }
    }
}

/// The readable content of an unfinished CryptoFile.
struct WrittenContent: Sendable {
    let file: UnfinishedCryptoFile
    /// The content's range in the stream.
    let content: Range<UInt64>
    /// The range of the stream that the file holds.
    let span: Range<UInt64>

    /// Fills the buffer from a stream position. Returns false outside the content. Blocks on disk I/O.
    func read(into buffer: UnsafeMutableRawBufferPointer, at position: UInt64) throws -> Bool {
        let range = position..<position + UInt64(buffer.count)
        guard content.clamped(to: range) == range else { return false }
        try file.read(into: buffer, at: position - span.lowerBound)
        return true
    }

    /// Returns the range of whole blocks that are authenticated with a range of content. The first block
    /// starts with the content.
    func blocks(around range: Range<UInt64>) -> Range<UInt64> {
        let size = UInt64(BlockTags.blockSize)
        let part = range.clamped(to: content)
        guard !part.isEmpty else { return range }
        let first = (part.lowerBound - content.lowerBound) / size * size
        let last = (part.upperBound - content.lowerBound + size - 1) / size * size
        return content.lowerBound + first..<min(content.lowerBound + last, span.upperBound)
    }
}

/// Ranges of a file that the disk did not keep.
struct DamagedBlocks: Error {
    let ranges: [Range<UInt64>]
}

/// Written chunks that the CryptoFile no longer holds; they must be fetched again.
struct DamagedChunks: Error {
    let chunks: [Int]
}
