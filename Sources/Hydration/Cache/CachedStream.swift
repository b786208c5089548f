import Base
import ChatCore
import Cryptography
import Posix

/// The decrypted stream of one file, as far as its chunks have arrived: on the disk, or in memory where
/// the disk has no room. Any thread.
final class CachedStream: Sendable {
    enum Disk: Sendable {
        case sealed(SealedFile)
        case plain(PlainStream)
    }

    enum Place {
        /// Just arrived, in the memory it was received into.
        case arrived(any FetchedChunk)
        /// With a number that no other stay on the disk has.
        case disk(UInt64)
        case memory
        /// Only in the CryptoFile that the check of the whole writes.
        case written

        var isOnDisk: Bool {
            switch self {
            case .disk, .written: true
            case .arrived, .memory: false
            }
        }

        /// Whether it is the same stay at the same place.
        func isSame(as other: Place?) -> Bool {
            switch (self, other) {
            case (.disk(let number), .disk(let now)): number == now
            case (.memory, .memory), (.written, .written): true
            case (.arrived(let fetched), .arrived(let now)): fetched === now
            default: false
            }
        }
    }

    struct Places {
        var chunks: [Int: Place] = [:]
        var lastNumber: UInt64 = 0
        var written: WrittenContent?
    }

    /// Tells the streams of one cache apart.
    let id: UInt64
    let layout: ChunkLayout
    let disk: Disk?
    let memory: ChunkMemory
    let usage: CacheUsage
    let places = Lock(Places())

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

    /// Bytes of chunks that lie on the disk, in the cache or in the CryptoFile that is being written.
    var bytesOnDisk: UInt64 {
        places.withLock { places in
            places.chunks.reduce(0) { sum, chunk in
                chunk.value.isOnDisk ? sum + layout.size(of: chunk.key) : sum
            }
        }
    }

    func holds(_ chunk: Int) -> Bool {
        switch places.withLock({ $0.chunks[chunk] }) {
        case .disk, .arrived, .written: true
        case .memory: memory.holds(ChunkMemory.Key(stream: id, chunk: chunk))
        case nil: false
        }
    }

    /// Whether a chunk lies in the cache, for as long as that lets it.
    func keeps(_ chunk: Int) -> Bool {
        switch places.withLock({ $0.chunks[chunk] }) {
        case .disk: true
        case .memory: memory.holds(ChunkMemory.Key(stream: id, chunk: chunk))
        case .arrived, .written, nil: false
        }
    }

    /// Fills the buffer; false when a part is missing or not what was stored. `DamagedChunks` when parts that
    /// had gone into the CryptoFile are not in it any more.
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
            let (place, written) = places.withLock { ($0.chunks[chunk], $0.written) }
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
            // Blocks that were given back meanwhile read as zeros, and a chunk may have moved on.
            let now = places.withLock { $0.chunks[chunk] }
            if place?.isSame(as: now) == true { return isRead }
        }
    }

    private func read(
        from written: WrittenContent, into target: UnsafeMutableRawBufferPointer, at position: UInt64
    ) throws -> Bool {
        do {
            return try written.read(into: target, at: position)
        } catch let error as CryptographyError where error.isDamage {
            // A block proves itself as a whole, and may hold the end of one chunk and the beginning of another.
            let blocks = written.blocks(around: position..<position + UInt64(target.count))
            let chunks = places.withLock { places in
                layout.chunks(blocks).filter {
                    if case .written = places.chunks[$0] { true } else { false }
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
            } catch  where error.isDamage {
                return false
            }
        case nil: return false
        }
    }
}

/// Bytes of chunks on the disk, over all files of a cache.
final class CacheUsage: Sendable {
    private let bytes = Lock<UInt64>(0)

    var total: UInt64 { bytes.withLock { $0 } }
    func take(_ count: UInt64) { bytes.withLock { $0 += count } }
    func give(_ count: UInt64) { bytes.withLock { $0 -= min(count, $0) } }
}
