import Base
import ChatCore
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
        var output: PassOutput?
    }

    /// Every step over a piece finds it in the processor's cache.
    private static let piece = 64 << 10
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
        _ = try inPieces(of: range) { piece, buffer in
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
        return try inPieces(of: layout.range(of: chunk)) { piece, buffer in
            guard try stream.read(into: buffer, at: piece.lowerBound) else { return false }
            try write(buffer, at: piece)
            try started?.check.add(stream: buffer)
            return true
        }
    }

    /// What has passed, for readers; nil before the header is known, and when nothing is written.
    var written: WrittenContent? {
        guard let content, let output = started?.output else { return nil }
        return WrittenContent(file: output.readable, content: content)
    }

    private func inPieces(
        of range: Range<UInt64>, _ body: (Range<UInt64>, UnsafeMutableRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 4096)
        defer { buffer.deallocate() }
        let output = try begin()
        while position < range.upperBound {
            let piece = position..<min(position + UInt64(Self.piece), range.upperBound)
            guard try body(piece, UnsafeMutableRawBufferPointer(rebasing: buffer[..<piece.count])) else {
                return false
            }
            position = piece.upperBound
            if position % Self.portion == 0 { output?.beginWritingBack() }
        }
        // Readers are sent to the file for what has passed.
        try output?.flush()
        return true
    }

    private func begin() throws -> PassOutput? {
        if let started { return started.output }
        let output = try folder.map { try PassOutput(in: $0) }
        started = Started(check: try source.wholeCheck(), output: output)
        return output
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
        try started?.output?.append(UnsafeRawBufferPointer(rebasing: bytes[start..<start + part.count]))
    }

    func finish(at path: String) throws -> FileArguments? {
        guard let started, position == layout.streamSize else {
            preconditionFailure("finished before all chunks had passed")
        }
        try started.check.finish()
        return try started.output?.finish(at: path)
    }
}
