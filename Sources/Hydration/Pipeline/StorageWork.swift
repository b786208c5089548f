import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// What a storage pipeline works with: the check, the file that is written, and how far both are. They do not
/// need each other: a chunk from memory is checked by one thread while another writes it.
///
/// Used by the pipeline's worker, and after that by who finishes it: never by two at once.
final class StorageWork: @unchecked Sendable {
    // Safe: see above; the lock of the pipeline orders one user after the other. Of the two threads of one user,
    // one touches `check` and `checked`, the other everything else.
    private let source: any ChunkSource
    private let layout: ChunkLayout
    private let contentSize: UInt64
    /// nil: only checks.
    private let folder: String?
    private var check: (any WholeCheck)?
    private var output: StorageOutput?
    /// How far they have come in the stream; within a chunk when its rest could not be read or written.
    private var checked: UInt64 = 0
    private var written: UInt64 = 0
    private var content: Range<UInt64>?

    /// Every step over a piece finds it in the processor's cache.
    private static let piece = 64 << 10
    /// Bytes after which the disk is told to begin writing.
    private static let portion: UInt64 = 4 << 20
    /// Who checks while another writes: as many as there are pipelines at work.
    private static let checkers = ThreadPool(name: "checking", threads: threadCount)
    /// How many pipelines are at work at once.
    static let threadCount = 2

    init(source: any ChunkSource, layout: ChunkLayout, contentSize: UInt64, folder: String?) {
        self.source = source
        self.layout = layout
        self.contentSize = contentSize
        self.folder = folder
    }

    /// Takes a chunk from memory. Blocks for the time of hashing or encrypting it, whichever is longer.
    func store(_ chunk: Int, _ fetched: any FetchedChunk) throws {
        try begin()
        let range = layout.range(of: chunk)
        try Self.checkers.doing({ try self.check(fetched, range) }, beside: { try write(fetched, range) })
    }

    private func check(_ fetched: any FetchedChunk, _ range: Range<UInt64>) throws {
        try fetched.withEncrypted { bytes in
            while let piece = Self.piece(from: checked, of: range) {
                let offset = Int(piece.lowerBound - range.lowerBound)
                try check?.add(
                    encrypted: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + piece.count]))
                checked = piece.upperBound
            }
        }
    }

    private func write(_ fetched: any FetchedChunk, _ range: Range<UInt64>) throws {
        try Self.withPieceMemory { memory in
            while let piece = Self.piece(from: written, of: range) {
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<piece.count])
                fetched.decrypt(from: Int(piece.lowerBound - range.lowerBound), into: bytes)
                try write(bytes, at: piece)
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
            while let piece = Self.piece(from: min(checked, written), of: range) {
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<piece.count])
                guard try stream.read(into: bytes, at: piece.lowerBound) else { return false }
                if written < piece.upperBound { try write(bytes, at: piece) }
                if checked < piece.upperBound {
                    try check?.add(stream: bytes)
                    checked = piece.upperBound
                }
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
            while let piece = Self.piece(from: position, of: range) {
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
            while let piece = Self.piece(from: position, of: range) {
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
        let part = content.clamped(to: piece)
        guard !part.isEmpty else { return }
        let start = Int(part.lowerBound - piece.lowerBound)
        try output.repair(
            UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + part.count]),
            at: part.lowerBound - content.lowerBound)
    }

    /// The piece of a range that comes next.
    private static func piece(from position: UInt64, of range: Range<UInt64>) -> Range<UInt64>? {
        let start = max(position, range.lowerBound)
        return start < range.upperBound ? start..<min(start + UInt64(piece), range.upperBound) : nil
    }

    private static func withPieceMemory<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 4096)
        defer { memory.deallocate() }
        return try body(memory)
    }

    /// What is stored, for readers; nil before the header is known, and when nothing is written.
    var writtenContent: WrittenContent? {
        guard let content, let output else { return nil }
        return WrittenContent(file: output.readable, content: content)
    }

    private func begin() throws {
        if check != nil { return }
        output = try folder.map { try StorageOutput(in: $0, contentSize: contentSize) }
        check = try source.wholeCheck()
    }

    private func write(_ bytes: UnsafeMutableRawBufferPointer, at piece: Range<UInt64>) throws {
        if content == nil {
            guard
                let header = FileHeader(
                    stream: Array(bytes.prefix(FileHeader.maxLength)), streamSize: layout.streamSize),
                header.contentSize == contentSize
            else { throw HydrationError(.damaged, FileProblem.wrongLength.sentence) }
            content = header.contentOffset..<header.contentOffset + contentSize
        }
        if let part = content?.clamped(to: piece), !part.isEmpty {
            let start = Int(part.lowerBound - piece.lowerBound)
            try output?.append(UnsafeRawBufferPointer(rebasing: bytes[start..<start + part.count]))
        }
        written = piece.upperBound
        if written % Self.portion == 0 { output?.beginWritingBack() }
    }

    func finish(at path: String) throws -> StoredCopy? {
        guard let check, checked == layout.streamSize, written == layout.streamSize else {
            preconditionFailure("finished before all chunks were stored")
        }
        try check.finish()
        guard let output, let content else { return nil }
        do {
            return StoredCopy(arguments: try output.finish(at: path), tags: output.readable.tags)
        } catch let damage as DamagedBlocks {
            let chunks = damage.ranges.flatMap { range -> ClosedRange<Int> in
                // The file's own tag, behind the content, is written anew each time.
                let first = min(range.lowerBound, max(contentSize, 1) - 1)
                let last = max(min(range.upperBound, contentSize), first + 1) - 1
                return layout.chunk(
                    at: content.lowerBound + first)...layout.chunk(at: content.lowerBound + last)
            }
            throw DamagedChunks(chunks: Set(chunks).sorted())
        }
    }
}

/// A CryptoFile that was written, made durable and read back: the keys that open it, and the proofs of its
/// blocks.
struct StoredCopy: Sendable {
    let arguments: FileArguments
    let tags: BlockTags
}
