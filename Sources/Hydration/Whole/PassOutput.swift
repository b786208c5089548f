import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// The CryptoFile that a storing pass writes. It has no name until it is complete and right.
///
/// Used by one thread at a time; `readable` by any.
final class PassOutput {
    let readable: UnfinishedCryptoFile
    private let folder: OpenFile
    private let arguments: FileArguments
    private let writer: CryptoFileWriter
    private var file: OpenFile
    private var isComplete = false
    private var hadName = false
    private let contentSize: UInt64
    /// How far the file has room on the disk.
    private var reserved: UInt64 = 0

    init(in folder: String, contentSize: UInt64) throws {
        self.contentSize = contentSize
        self.folder = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        file = try Self.makeFile(in: self.folder)
        arguments = CryptoFile.freshArguments()
        writer = try CryptoFileWriter(file: file, arguments: arguments)
        readable = try UnfinishedCryptoFile(file: file, arguments: arguments)
    }

    private static func makeFile(in folder: OpenFile) throws -> OpenFile {
        OpenFile(adopting: try check("make a file") { chatfs_open_unnamed(folder.descriptor) })
    }

    /// Takes all of `bytes`, at most 256 KiB, or nothing.
    func append(_ bytes: UnsafeRawBufferPointer) throws { try writer.append(bytes) }

    func flush() throws { try writer.flush() }

    /// Tells the disk to begin, so that little is left for the end. Takes room for a little more, which makes
    /// writing it a third cheaper; not where the disk is short.
    func beginWritingBack() {
        file.beginWritingBack()
        let written = writer.position
        let end = min(contentSize, written + Self.ahead)
        guard written > Self.ahead, reserved < min(end, written + Self.leastAhead),
            let free = try? file.availableBytes(), free > Self.plenty,
            (try? file.reserve(max(reserved, written)..<end)) != nil
        else { return }
        reserved = end
    }

    private static let ahead: UInt64 = 32 << 20
    private static let leastAhead: UInt64 = 8 << 20
    private static let plenty: UInt64 = 1 << 30

    /// Makes the file durable under `path`. May be called again when the one who was to take it did not.
    func finish(at path: String) throws -> FileArguments {
        if !isComplete {
            try writer.finish()
            isComplete = true
        }
        // A file that had a name and lost it gets no other.
        if hadName { file = try copy() }
        try file.synchronise()
        try check("give a file its name") {
            linkat(AT_FDCWD, "/proc/self/fd/\(file.descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
        hadName = true
        return arguments
    }

    private func copy() throws -> OpenFile {
        let other = try Self.makeFile(in: folder)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while true {
            let count = try file.read(into: buffer, at: position)
            if count == 0 { return other }
            try other.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: position)
            position += UInt64(count)
        }
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
}
