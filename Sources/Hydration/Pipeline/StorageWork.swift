import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// The state of a storage pipeline's worker: verification, written file and their positions. An unchanged
/// stream is verified when it is read back, not before.
///
/// Used by the pipeline's worker and then by `finish`, never by two threads at once.
final class StorageWork: @unchecked Sendable {
    // Safe: see above; the pipeline's lock orders its users.

    /// The form of the stored file.
    enum Form: Sendable {
        /// The unchanged stream with its own key.
        case stream(folder: String)
        /// The content, encrypted with a fresh key.
        case content(folder: String)
        /// Not stored.
        case none

        var writes: Bool { if case .none = self { false } else { true } }
    }

    private let source: any ChunkSource
    private let layout: ChunkLayout
    private let contentSize: UInt64
    private let form: Form
    private var check: (any WholeCheck)?
    private var output: StorageOutput?
    /// Stream positions, possibly inside a chunk whose rest could not be read or written.
    private var checked: UInt64 = 0
    private var written: UInt64 = 0
    private var content: Range<UInt64>?

    /// Pieces fit into the processor's cache for all steps.
    private static let maxPiece = 256 << 10
    private static let smallPiece = 64 << 10
    /// Unchanged pieces go to the disk in one call.
    private var pieceSize: Int { isEncryptedAnew ? Self.smallPiece : Self.maxPiece }
    private var isEncryptedAnew: Bool { if case .content = form { true } else { false } }
    /// Bytes between two starts of writeback.
    private static let portion: UInt64 = 4 << 20
    /// Number of concurrent pipelines.
    static let threadCount = 2

    init(source: any ChunkSource, layout: ChunkLayout, contentSize: UInt64, form: Form) {
        self.source = source
        self.layout = layout
        self.contentSize = contentSize
        self.form = form
    }

    /// Stores a chunk from memory. Blocks for authentication, disk I/O and encryption with a fresh key.
    func store(_ chunk: Int, _ fetched: any FetchedChunk) throws {
        try begin()
        let range = layout.range(of: chunk)
        try findContent { fetched.decrypt(from: 0, into: $0) }
        try fetched.withEncrypted { bytes in
            try Self.withPieceMemory { memory in
                while let piece = nextPiece(from: min(checked, written), of: range) {
                    let start = Int(piece.lowerBound - range.lowerBound)
                    let encrypted = UnsafeRawBufferPointer(rebasing: bytes[start..<start + piece.count])
                    if isEncryptedAnew, written < piece.upperBound {
                        let plain = UnsafeMutableRawBufferPointer(rebasing: memory[..<piece.count])
                        fetched.decrypt(from: start, into: plain)
                        try write(content: plain, at: piece)
                    }
                    try take(encrypted: encrypted, at: piece)
                }
            }
        }
        // Readers use the file for stored chunks.
        try output?.flush()
    }

    /// Stores a chunk from the cache. Returns false if the cache cannot read it.
    func store(_ chunk: Int, from stream: CachedStream) throws -> Bool {
        try begin()
        let range = layout.range(of: chunk)
        return try Self.withPieceMemory { memory in
            while let piece = nextPiece(from: min(checked, written), of: range) {
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<piece.count])
                guard try stream.read(into: bytes, at: piece.lowerBound) else { return false }
                try findContent { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<$0.count])) }
                if isEncryptedAnew, written < piece.upperBound { try write(content: bytes, at: piece) }
                source.encrypt(bytes, at: piece.lowerBound)
                try take(encrypted: UnsafeRawBufferPointer(bytes), at: piece)
            }
            try output?.flush()
            return true
        }
    }

    /// Rewrites a stored chunk from memory.
    func repair(_ chunk: Int, _ fetched: any FetchedChunk) throws {
        let range = layout.range(of: chunk)
        try Self.withPieceMemory { memory in
            var position = range.lowerBound
            while let piece = nextPiece(from: position, of: range) {
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<piece.count])
                fetched.decrypt(from: Int(piece.lowerBound - range.lowerBound), into: bytes)
                try repair(bytes, at: piece)
                position = piece.upperBound
            }
        }
    }

    /// Rewrites a stored chunk from the cache. Returns false if the cache cannot read it.
    func repair(_ chunk: Int, from stream: CachedStream) throws -> Bool {
        let range = layout.range(of: chunk)
        return try Self.withPieceMemory { memory in
            var position = range.lowerBound
            while let piece = nextPiece(from: position, of: range) {
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<piece.count])
                guard try stream.read(into: bytes, at: piece.lowerBound) else { return false }
                try repair(bytes, at: piece)
                position = piece.upperBound
            }
            return true
        }
    }

    private func repair(_ bytes: UnsafeMutableRawBufferPointer, at piece: Range<UInt64>) throws {
        guard let content, let output else { return }
        switch form {
        case .none: return
        case .stream:
            source.encrypt(bytes, at: piece.lowerBound)
            try output.repair(bytes, at: piece.lowerBound)
        case .content:
            let part = content.clamped(to: piece)
            guard !part.isEmpty else { return }
            let start = Int(part.lowerBound - piece.lowerBound)
            try output.repair(
                UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + part.count]),
                at: part.lowerBound - content.lowerBound)
        }
    }

    /// The next piece of a range from a position.
    private func nextPiece(from position: UInt64, of range: Range<UInt64>) -> Range<UInt64>? {
        let start = max(position, range.lowerBound)
        return start < range.upperBound ? start..<min(start + UInt64(pieceSize), range.upperBound) : nil
    }

    private static func withPieceMemory<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: maxPiece, alignment: 4096)
        defer { memory.deallocate() }
        return try body(memory)
    }

    /// The stored content for readers; nil before the header is known and if no file is written.
    var writtenContent: WrittenContent? {
        guard let content, let output else { return nil }
        return WrittenContent(file: output.readable, content: content, span: span(of: content))
    }

    /// The range of the stream that the written file holds.
    private func span(of content: Range<UInt64>) -> Range<UInt64> {
        if case .stream = form { 0..<layout.streamSize } else { content }
    }

    private func begin() throws {
        if case .stream = form { return }
        if check == nil { check = try source.wholeCheck() }
    }

    /// Parses the header, once, and creates the file.
    /// - Parameter read: Fills a buffer with the start of the stream.
    private func findContent(_ read: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        if content != nil { return }
        let length = Int(min(UInt64(FileHeader.maxLength), layout.size(of: 0)))
        var prefix = [UInt8](repeating: 0, count: length)
        try prefix.withUnsafeMutableBytes(read)
        guard let header = FileHeader(stream: prefix, streamSize: layout.streamSize),
            header.contentSize == contentSize
        else { throw HydrationError(.damaged, FileProblem.wrongLength.sentence) }
        let content = header.contentOffset..<header.contentOffset + contentSize
        switch form {
        case .none: break
        case .content(let folder): output = try StorageOutput(in: folder, contentSize: contentSize)
        case .stream(let folder):
            var arguments = source.arguments
            arguments.content = content
            output = try StorageOutput(in: folder, streamSize: layout.streamSize, arguments: arguments)
        }
        self.content = content
    }

    private func write(content bytes: UnsafeMutableRawBufferPointer, at piece: Range<UInt64>) throws {
        if let part = content?.clamped(to: piece), !part.isEmpty {
            let start = Int(part.lowerBound - piece.lowerBound)
            try output?.append(UnsafeRawBufferPointer(rebasing: bytes[start..<start + part.count]))
        }
        wrote(to: piece.upperBound)
    }

    /// Processes the next encrypted piece.
    private func take(encrypted bytes: UnsafeRawBufferPointer, at piece: Range<UInt64>) throws {
        if !isEncryptedAnew, written < piece.upperBound {
            try output?.append(bytes)
            wrote(to: piece.upperBound)
        }
        guard checked < piece.upperBound else { return }
        try check?.add(encrypted: bytes)
        checked = piece.upperBound
    }

    private func wrote(to position: UInt64) {
        written = position
        if written % Self.portion == 0 { output?.beginWritingBack() }
    }

    func finish(at path: String) throws -> StoredCopy? {
        guard checked == layout.streamSize, written == layout.streamSize else {
            preconditionFailure("finished before all chunks were stored")
        }
        try check?.finish()
        guard let output, let content else { return nil }
        do {
            return StoredCopy(arguments: try output.finish(at: path), tags: output.readable.tags)
        } catch let damage as DamagedBlocks {
            throw DamagedChunks(chunks: chunks(of: damage.ranges, in: span(of: content)))
        }
    }

    /// The chunks that overlap ranges of the written file.
    private func chunks(of damage: [Range<UInt64>], in span: Range<UInt64>) -> [Int] {
        let length = span.upperBound - span.lowerBound
        let chunks = damage.flatMap { range -> ClosedRange<Int> in
            // A fresh key's tag follows the content and is rewritten each time.
            let first = min(range.lowerBound, max(length, 1) - 1)
            let last = max(min(range.upperBound, length), first + 1) - 1
            return layout.chunk(at: span.lowerBound + first)...layout.chunk(at: span.lowerBound + last)
        }
        return Set(chunks).sorted()
    }
}

/// A durable, verified CryptoFile with its keys and block tags.
struct StoredCopy: Sendable {
    let arguments: FileArguments
    let tags: BlockTags
}
