import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// The CryptoFile that a storage pipeline writes. It has no name until it is complete and right.
///
/// Used by one thread at a time; what `readable` gives by any.
final class StorageOutput {
    private(set) var readable: UnfinishedCryptoFile
    private let folder: OpenFile
    private let arguments: FileArguments
    private let writer: CryptoFileWriter
    private var file: OpenFile
    private var hadName = false
    private let contentSize: UInt64
    /// How far space is reserved on the disk.
    private var reserved: UInt64 = 0

    init(in folder: String, contentSize: UInt64) throws {
        self.contentSize = contentSize
        self.folder = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        file = try Self.makeFile(in: self.folder)
        arguments = CryptoFile.freshArguments()
        writer = try CryptoFileWriter(file: file, arguments: arguments, makesTags: true)
        guard let tags = writer.tags else { preconditionFailure("a writer that makes tags has none") }
        readable = try UnfinishedCryptoFile(file: file, arguments: arguments, tags: tags)
    }

    private static func makeFile(in folder: OpenFile) throws -> OpenFile {
        OpenFile(adopting: try check("make a file") { chatfs_open_unnamed(folder.descriptor) })
    }

    /// Takes all of `bytes`, at most 256 KiB, or nothing.
    func append(_ bytes: UnsafeRawBufferPointer) throws { try writer.append(bytes) }

    func flush() throws { try writer.flush() }

    /// Writes content to its place once more, where the disk did not keep it. `bytes` are changed.
    func repair(_ bytes: UnsafeMutableRawBufferPointer, at position: UInt64) throws {
        try readable.mend(bytes, at: position)
    }

    /// Tells the disk to begin, so that little is left for the end. Reserves space for a little more, which makes
    /// writing it a third cheaper; not where the disk is short.
    func beginWritingBack() {
        file.beginWritingBack()
        let written = writer.position
        let end = min(contentSize, written + Self.ahead)
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
    func finish(at path: String) throws -> FileArguments {
        try writer.finish()
        // A file that had a name and lost it gets no other.
        if hadName {
            file = try Self.makeFile(in: folder)
            readable = try readable.copy(to: file)
            hadName = false
        }
        try file.synchronise()
        let damage = try readable.damage()
        guard damage.isEmpty else { throw DamagedBlocks(ranges: damage) }
        try check("give a file its name") {
            linkat(AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
        hadName = true
        return arguments
    }
}

/// The content of a file as far as its CryptoFile has been written.
struct WrittenContent: Sendable {
    let file: UnfinishedCryptoFile
    /// Where the content lies in the stream.
    let content: Range<UInt64>

    /// Fills the buffer from a position of the stream on; false outside of the content. Blocks on the disk.
    func read(into buffer: UnsafeMutableRawBufferPointer, at position: UInt64) throws -> Bool {
        let range = position..<position + UInt64(buffer.count)
        guard content.clamped(to: range) == range else { return false }
        try file.read(into: buffer, at: position - content.lowerBound)
        return true
    }

    /// The part of the stream that proves itself together with a range: whole blocks.
    func blocks(around range: Range<UInt64>) -> Range<UInt64> {
        let size = UInt64(BlockTags.blockSize)
        let part = range.clamped(to: content)
        guard !part.isEmpty else { return range }
        let start = (part.lowerBound - content.lowerBound) / size * size
        let end = (part.upperBound - content.lowerBound + size - 1) / size * size
        return content.lowerBound + start..<min(content.lowerBound + end, content.upperBound)
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
