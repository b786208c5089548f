import Base
import ChatCore
import Cryptography
import Posix

/// Where chunks are put, and how they go.
extension CachedStream {
    /// A chunk has arrived: it is read from its memory until it is kept elsewhere or forgotten.
    func hold(_ fetched: any FetchedChunk, _ chunk: Int) {
        forget(chunk)
        places.withLock { $0.chunks[chunk] = .arrived(fetched) }
    }

    /// A chunk's content is in the CryptoFile. What also lies on the disk of the cache stays there: reading it
    /// back is cheaper.
    func wrote(_ chunk: Int, to written: WrittenContent) {
        let before = places.withLock { places -> Place? in
            let before = places.chunks[chunk]
            places.written = written
            if case .disk = before { return before }
            places.chunks[chunk] = .written
            return before
        }
        if before?.isOnDisk != true { usage.take(layout.size(of: chunk)) }
        if case .memory = before { memory.drop(ChunkMemory.Key(stream: id, chunk: chunk)) }
    }

    /// Keeps a chunk on the disk. When this fails, nothing of it is left there. One caller per chunk at a
    /// time. Blocks on the disk.
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
        places.withLock { places in
            places.lastNumber += 1
            places.chunks[chunk] = .disk(places.lastNumber)
        }
        usage.take(layout.size(of: chunk))
    }

    /// Keeps a chunk in memory and answers which chunks of which streams had to go for it.
    func keepInMemory(_ fetched: any FetchedChunk, _ chunk: Int) -> [ChunkMemory.Key] {
        let gone = memory.keep(ChunkMemory.Key(stream: id, chunk: chunk), count: fetched.count) {
            fetched.decrypt(from: 0, into: $0)
        }
        places.withLock { $0.chunks[chunk] = .memory }
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

    /// The chunk's blocks are not what was stored, or not wanted any more.
    func forget(_ chunk: Int) {
        let before = places.withLock { $0.chunks.removeValue(forKey: chunk) }
        if before?.isOnDisk == true { usage.give(layout.size(of: chunk)) }
        if case .disk = before { discard(chunk) }
    }

    /// Gives the disk space of a chunk back. A disk that cannot even do that keeps it until the file goes.
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

    /// The content as a file on the disk, once all of it is there; nil when it is sealed, in memory, or laid
    /// otherwise.
    func contentFile(at offset: UInt64, size: UInt64) throws -> OpenFile? {
        let isOnDisk = places.withLock { places in
            (0..<layout.count).allSatisfy { if case .disk = places.chunks[$0] { true } else { false } }
        }
        guard isOnDisk, case .plain(let file) = disk else { return nil }
        return try file.content(at: offset, size: size)
    }
}
