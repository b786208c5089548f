import Base
import ChatCore
import Cryptography
import Posix

/// The available chunks of one file's decrypted stream, on disk, or in memory if the disk is full.
/// Thread-safe.
final class CachedStream: Sendable {
    enum Disk: Sendable {
        case sealed(SealedFile)
        case plain(PlainStream)
    }

    /// Unique among the streams of one cache.
    let id: UInt64
    let layout: ChunkLayout
    private let disk: Disk?
    private let memory: ChunkMemory
    private let usage: CacheUsage
    private let places = Lock(ChunkPlaces())

    init(id: UInt64, layout: ChunkLayout, disk: Disk?, memory: ChunkMemory, usage: CacheUsage) {
        self.id = id
        self.layout = layout
        self.disk = disk
        self.memory = memory
        self.usage = usage
    }

    deinit {
        memory.drop(stream: id)
        usage.give(bytesOnDisk)
    }

    /// If false, chunks are kept in memory only.
    var hasDisk: Bool { disk != nil }

    /// Bytes of chunks on the disk, in the cache or in the unfinished CryptoFile.
    var bytesOnDisk: UInt64 {
        places.withLock { $0.chunksOnDisk.reduce(0) { $0 + layout.size(of: $1) } }
    }

    func place(of chunk: Int) -> ChunkPlaces.Place? { places.withLock { $0[chunk] } }

    func holds(_ chunk: Int) -> Bool {
        switch place(of: chunk) {
        case .disk, .arrived, .written: true
        case .memory: memory.holds(ChunkMemory.Key(stream: id, chunk: chunk))
        case nil: false
        }
    }

    /// Returns true if the cache holds the chunk. Memory chunks may be evicted at any time.
    func keeps(_ chunk: Int) -> Bool {
        switch place(of: chunk) {
        case .disk: true
        case .memory: memory.holds(ChunkMemory.Key(stream: id, chunk: chunk))
        case .arrived, .written, nil: false
        }
    }

    /// Fills the buffer. Returns false if a chunk is missing or damaged in the cache.
    /// - Throws: `DamagedChunks` if the CryptoFile no longer holds chunks that were written to it.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Bool {
        let end = offset + UInt64(buffer.count)
        for chunk in layout.chunks(offset..<end) {
            let range = layout.range(of: chunk)
            let part = range.clamped(to: offset..<end)
            let start = Int(part.lowerBound - offset)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + part.count])
            guard try read(chunk, from: Int(part.lowerBound - range.lowerBound), into: target) else {
                return false
            }
        }
        return true
    }

    private func read(
        _ chunk: Int, from start: Int, into target: UnsafeMutableRawBufferPointer
    ) throws -> Bool {
        let position = layout.range(of: chunk).lowerBound + UInt64(start)
        while true {
            let (place, written) = places.withLock { ($0[chunk], $0.written) }
            let isRead: Bool
            switch place {
            case .arrived(let fetched):
                fetched.decrypt(from: start, into: target)
                return true
            case .written:
                guard let written else { return false }
                return try read(from: written, into: target, at: position)
            case .disk: isRead = try readFromDisk(into: target, at: position)
            case .memory:
                isRead = memory.read(ChunkMemory.Key(stream: id, chunk: chunk), from: start, into: target)
            case nil: return false
            }
            // Discarded blocks read as zeros, so compare the place again: the chunk may have moved meanwhile.
            if place?.isSame(as: self.place(of: chunk)) == true { return isRead }
        }
    }

    private func read(
        from written: WrittenContent, into target: UnsafeMutableRawBufferPointer, at position: UInt64
    ) throws -> Bool {
        do {
            return try written.read(into: target, at: position)
        } catch let error as CryptographyError where error.isDamage {
            // Tags cover whole blocks, and a block may span two chunks.
            let blocks = written.blocks(around: position..<position + UInt64(target.count))
            let chunks = places.withLock { places in
                layout.chunks(blocks).filter {
                    if case .written = places[$0] { true } else { false }
                }
            }
            throw DamagedChunks(chunks: chunks)
        }
    }

    private func readFromDisk(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws -> Bool {
        switch disk {
        case .plain(let file): return try file.read(into: buffer, at: offset)
        case .sealed(let file):
            do throws(CryptographyError) {
                return try file.read(into: buffer, at: offset) == buffer.count
            } catch {
                guard error.isDamage else { throw error }
                return false
            }
        case nil: return false
        }
    }

    // MARK: - Keeping

    /// Records an arrived chunk. Reads use its memory until it is kept elsewhere or forgotten.
    func hold(_ fetched: any FetchedChunk, _ chunk: Int) {
        forget(chunk)
        change(chunk) { $0.arrived(chunk, fetched) }
    }

    /// Records that the CryptoFile holds the chunk. A copy on the cache's disk stays, because reading it back
    /// is cheaper.
    func wrote(_ chunk: Int, to content: WrittenContent) {
        if case .memory = change(chunk, { $0.written(chunk, to: content) }) {
            memory.drop(ChunkMemory.Key(stream: id, chunk: chunk))
        }
    }

    /// Changes the place of a chunk and counts bytes on the disk. Returns the previous place.
    @discardableResult
    private func change(_ chunk: Int, _ event: (inout ChunkPlaces) -> Void) -> ChunkPlaces.Place? {
        let (before, isOnDisk) = places.withLock { places in
            let before = places[chunk]
            event(&places)
            return (before, places[chunk]?.isOnDisk == true)
        }
        switch (before?.isOnDisk == true, isOnDisk) {
        case (false, true): usage.take(layout.size(of: chunk))
        case (true, false): usage.give(layout.size(of: chunk))
        default: break
        }
        return before
    }

    /// Writes a chunk to the cache's disk and discards a partial write on failure. Blocks on disk I/O.
    /// Concurrent calls for one chunk are not allowed.
    func keepOnDisk(_ fetched: any FetchedChunk, _ chunk: Int) throws {
        guard let disk else { preconditionFailure("a cache in memory has no disk") }
        let offset = layout.range(of: chunk).lowerBound
        do {
            switch disk {
            case .sealed(let file): try Self.seal(fetched, at: offset, in: file)
            case .plain(let file): try Self.write(fetched, at: offset, to: file)
            }
        } catch {
            discard(chunk)
            throw error
        }
        change(chunk) { $0.keptOnDisk(chunk) }
    }

    /// Keeps a chunk in memory. Returns the chunks that were evicted for it, of any stream.
    func keepInMemory(_ fetched: any FetchedChunk, _ chunk: Int) -> [ChunkMemory.Key] {
        let gone = memory.keep(ChunkMemory.Key(stream: id, chunk: chunk), count: fetched.count) {
            fetched.decrypt(from: 0, into: $0)
        }
        change(chunk) { $0.keptInMemory(chunk) }
        return gone
    }

    private static func seal(_ fetched: any FetchedChunk, at offset: UInt64, in file: SealedFile) throws {
        var start = 0
        while start < fetched.count {
            let count = min(SealedFile.blockSize, fetched.count - start)
            let number = Int((offset + UInt64(start)) / UInt64(SealedFile.blockSize))
            if file.hasBlock(number) { try file.dropBlock(number) }
            let from = start
            try file.storeNewBlock(number, count: count) { fetched.decrypt(from: from, into: $0) }
            start += count
        }
    }

    private static func write(_ fetched: any FetchedChunk, at offset: UInt64, to file: PlainStream) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var start = 0
        while start < fetched.count {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(fetched.count - start))
            fetched.decrypt(from: start, into: part)
            try file.write(UnsafeRawBufferPointer(part), at: offset + UInt64(start))
            start += part.count
        }
    }

    /// Drops a chunk that is damaged or no longer wanted.
    func forget(_ chunk: Int) {
        if case .disk = change(chunk, { $0.forget(chunk) }) { discard(chunk) }
    }

    /// Frees the disk space of a chunk. On an error the space stays in use until the file is closed.
    private func discard(_ chunk: Int) {
        let range = layout.range(of: chunk)
        switch disk {
        case .plain(let file): try? file.discard(range)
        case .sealed(let file):
            let size = UInt64(SealedFile.blockSize)
            for number in Int(range.lowerBound / size)..<Int((range.upperBound + size - 1) / size) {
                try? file.dropBlock(number)
            }
        case nil: break
        }
    }

    /// Returns the content as a file on the disk if all chunks are in the plain cache and the content starts
    /// at the expected offset; nil otherwise.
    func contentFile(at offset: UInt64, size: UInt64) throws -> OpenFile? {
        let isOnDisk = places.withLock { places in
            (0..<layout.count).allSatisfy { if case .disk = places[$0] { true } else { false } }
        }
        guard isOnDisk, case .plain(let file) = disk else { return nil }
        return try file.content(at: offset, size: size)
    }
}

/// Bytes of chunks on the disk, over all files of a cache.
final class CacheUsage: Sendable {
    private let bytes = Lock<UInt64>(0, rank: .innermost)

    var total: UInt64 { bytes.withLock { $0 } }
    func take(_ count: UInt64) { bytes.withLock { $0 += count } }
    func give(_ count: UInt64) { bytes.withLock { $0 -= min(count, $0) } }
}
