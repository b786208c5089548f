import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// What a storage pipeline works with: the check, the file that is written, and how far both are. A stream that is kept
/// as it came needs no check on its way, since its tag is compared when it is read back.
///
/// Used by the pipeline's worker, and after that by who finishes it: never by two at once.
final class StorageWork: @unchecked Sendable {
    // Safe: see above; the lock of the pipeline orders one user after the other.

    /// What becomes of a file that has come.
    enum Form: Sendable {
        /// It is kept as it came, under its own key.
        case stream(folder: String)
        /// Its content is encrypted anew, with a key of its own.
        case content(folder: String)
        /// Nothing is written.
        case none

        var writes: Bool { if case .none = self { false } else { true } }
    }

    private let source: any ChunkSource
    private let layout: ChunkLayout
    private let contentSize: UInt64
    private let form: Form
    private var check: (any WholeCheck)?
    private var output: StorageOutput?
    /// How far they have come in the stream; within a chunk when its rest could not be read or written.
    private var checked: UInt64 = 0
    private var written: UInt64 = 0
    private var content: Range<UInt64>?

    /// Every step over a piece finds it in the processor's cache.
    private static let maxPiece = 256 << 10
    private static let smallPiece = 64 << 10
    /// A piece that is not encrypted goes to the disk in one call.
    private var pieceSize: Int { isEncryptedAnew ? Self.smallPiece : Self.maxPiece }
    private var isEncryptedAnew: Bool { if case .content = form { true } else { false } }
    /// Bytes after which the disk is told to begin writing.
    private static let portion: UInt64 = 4 << 20
    /// How many pipelines are at work at once.
    static let threadCount = 2

    init(source: any ChunkSource, layout: ChunkLayout, contentSize: UInt64, form: Form) {
        self.source = source
        self.layout = layout
        self.contentSize = contentSize
        self.form = form
    }

    /// Takes a chunk from memory. Blocks for the time of authenticating and writing it, and of encrypting it where it
    /// gets another key.
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
        // Readers are sent to the file for what is stored.
        try output?.flush()
    }

    /// Takes a chunk from the cache; false when the cache does not give it back.
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

    /// Writes a chunk that was stored to its place once more.
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

    /// The same from the cache; false when the cache does not give it back.
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

    /// The piece of a range that comes next.
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

    /// What is stored, for readers; nil before the header is known, and when nothing is written.
    var writtenContent: WrittenContent? {
        guard let content, let output else { return nil }
        return WrittenContent(file: output.readable, content: content, span: span(of: content))
    }

    /// The part of the stream that the written file holds.
    private func span(of content: Range<UInt64>) -> Range<UInt64> {
        if case .stream = form { 0..<layout.streamSize } else { content }
    }

    private func begin() throws {
        if case .stream = form { return }
        if check == nil { check = try source.wholeCheck() }
    }

    /// Reads the header, once, and begins the file.
    /// - Parameter read: fills a buffer with the beginning of the stream.
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

    /// The next piece as it lies on the relays.
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

    /// The chunks that hold these parts of the written file.
    private func chunks(of damage: [Range<UInt64>], in span: Range<UInt64>) -> [Int] {
        let length = span.upperBound - span.lowerBound
        let chunks = damage.flatMap { range -> ClosedRange<Int> in
            // The tag of a file that was encrypted anew, behind the content, is written anew each time.
            let first = min(range.lowerBound, max(length, 1) - 1)
            let last = max(min(range.upperBound, length), first + 1) - 1
            return layout.chunk(at: span.lowerBound + first)...layout.chunk(at: span.lowerBound + last)
        }
        return Set(chunks).sorted()
    }
}

/// A CryptoFile that was written, made durable and read back: the keys that open it, and the proofs of its
/// blocks.
struct StoredCopy: Sendable {
    let arguments: FileArguments
    let tags: BlockTags
}
