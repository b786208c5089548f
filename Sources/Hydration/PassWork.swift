import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// What a storing pass works with: the check, the file that is written, and how far both are.
///
/// Used by whoever is busy in the pass, and after that by who finishes it: never by two at once.
final class PassWork: @unchecked Sendable {
    // Safe: see above; the lock of the pass orders one user after the other.
    private let source: any ChunkSource
    private let layout: ChunkLayout
    private let contentSize: UInt64
    /// nil: only checks.
    private let folder: String?
    private var started: Started?
    /// Of the stream; within a chunk when its rest could not be read.
    private var position: UInt64 = 0
    private var content: Range<UInt64>?

    private struct Started {
        var check: any WholeCheck
        let output: Output?
    }

    private struct Output {
        let writer: CryptoFileWriter
        let file: OpenFile
        let arguments: FileArguments
    }

    private static let piece = 256 << 10
    /// Bytes after which the disk is told to begin writing.
    private static let portion: UInt64 = 4 << 20

    init(source: any ChunkSource, layout: ChunkLayout, contentSize: UInt64, folder: String?) {
        self.source = source
        self.layout = layout
        self.contentSize = contentSize
        self.folder = folder
    }

    /// Takes a chunk from memory. Blocks for the time of hashing and encrypting it.
    func pass(_ chunk: Int, _ fetched: any FetchedChunk) throws {
        let range = layout.range(of: chunk)
        try inPieces(of: range) { piece, buffer in
            let offset = Int(piece.lowerBound - range.lowerBound)
            fetched.decrypt(from: offset, into: buffer)
            try write(buffer, at: piece)
            try fetched.withEncrypted { bytes in
                let encrypted = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + buffer.count])
                try started?.check.add(encrypted: encrypted)
            }
            return true
        }
    }

    /// Takes a chunk from the cache; false when the cache does not give it back.
    func pass(_ chunk: Int, from stream: CachedStream) throws -> Bool {
        try inPieces(of: layout.range(of: chunk)) { piece, buffer in
            guard try stream.read(into: buffer, at: piece.lowerBound) else { return false }
            try write(buffer, at: piece)
            try started?.check.add(stream: buffer)
            return true
        }
        return position == layout.range(of: chunk).upperBound
    }

    private func inPieces(
        of range: Range<UInt64>, _ body: (Range<UInt64>, UnsafeMutableRawBufferPointer) throws -> Bool
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 4096)
        defer { buffer.deallocate() }
        let file = try begin()?.file
        while position < range.upperBound {
            let piece = position..<min(position + UInt64(Self.piece), range.upperBound)
            guard try body(piece, UnsafeMutableRawBufferPointer(rebasing: buffer[..<piece.count])) else {
                return
            }
            position = piece.upperBound
            if let file, position % Self.portion == 0 { file.beginWritingBack() }
        }
    }

    /// The file has no name until it is complete and right.
    private func begin() throws -> Output? {
        if let started { return started.output }
        let output = try folder.map(Self.makeOutput)
        started = Started(check: try source.wholeCheck(), output: output)
        return output
    }

    private static func makeOutput(in folder: String) throws -> Output {
        let directory = try OpenFile(folder, flags: O_RDONLY | chatfs_o_directory)
        let file = OpenFile(
            adopting: try check("make a file") { chatfs_open_unnamed(directory.descriptor) })
        let arguments = CryptoFile.freshArguments()
        return Output(
            writer: try CryptoFileWriter(file: file, arguments: arguments), file: file, arguments: arguments)
    }

    private func write(_ bytes: UnsafeMutableRawBufferPointer, at piece: Range<UInt64>) throws {
        if content == nil {
            guard
                let header = FileHeader(
                    stream: Array(bytes.prefix(FileHeader.longest)), streamSize: layout.streamSize),
                header.contentSize == contentSize
            else { throw HydrationError(.damaged, FileProblem.wrongLength.sentence) }
            content = header.contentOffset..<header.contentOffset + contentSize
        }
        guard let part = content?.clamped(to: piece), !part.isEmpty else { return }
        let start = Int(part.lowerBound - piece.lowerBound)
        try started?.output?.writer.append(
            UnsafeRawBufferPointer(rebasing: bytes[start..<start + part.count]))
    }

    func finish(at path: String) throws -> FileArguments? {
        guard let started, position == layout.streamSize else {
            preconditionFailure("finished before all chunks had passed")
        }
        try started.check.finish()
        guard let output = started.output else { return nil }
        try output.writer.finish()
        try output.file.synchronise()
        try Posix.check("give a file its name") {
            linkat(AT_FDCWD, "/proc/self/fd/\(output.file.descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
        return output.arguments
    }
}
