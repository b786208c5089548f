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

    private enum Place {
        case disk
        case memory
    }

    /// Tells the streams of one cache apart.
    let id: UInt64
    let layout: ChunkLayout
    private let disk: Disk?
    private let memory: ChunkMemory
    private let usage: CacheUsage
    private let places = Lock<[Int: Place]>([:])

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

    /// Bytes of chunks that lie on the disk.
    var bytesOnDisk: UInt64 {
        places.withLock { places in
            places.reduce(0) { $0 + ($1.value == .disk ? layout.size(of: $1.key) : 0) }
        }
    }

    func holds(_ chunk: Int) -> Bool {
        switch places.withLock({ $0[chunk] }) {
        case .disk: true
        case .memory: memory.holds(ChunkMemory.Key(stream: id, chunk: chunk))
        case nil: false
        }
    }

    // MARK: - Keeping

    /// Keeps a chunk on the disk. When this fails, nothing of it is left there. One caller per chunk at a
    /// time. Blocks on the disk.
    func keepOnDisk(_ fetched: any FetchedChunk, _ chunk: Int) throws {
        guard let disk else { preconditionFailure("a cache in memory has no disk") }
        forget(chunk)
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
        places.withLock { $0[chunk] = .disk }
        usage.take(layout.size(of: chunk))
    }

    /// Keeps a chunk in memory and answers which chunks of which streams had to go for it.
    func keepInMemory(_ fetched: any FetchedChunk, _ chunk: Int) -> [ChunkMemory.Key] {
        forget(chunk)
        let gone = memory.keep(ChunkMemory.Key(stream: id, chunk: chunk), count: fetched.count) {
            fetched.decrypt(from: 0, into: $0)
        }
        places.withLock { $0[chunk] = .memory }
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
        guard places.withLock({ $0.removeValue(forKey: chunk) }) == .disk else { return }
        usage.give(layout.size(of: chunk))
        discard(chunk)
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
            (0..<layout.count).allSatisfy { places[$0] == .disk }
        }
        guard isOnDisk, case .plain(let file) = disk else { return nil }
        return try file.content(at: offset, size: size)
    }

    // MARK: - Reading

    /// Fills the buffer; false when a part is missing or not what was stored.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Bool {
        let end = offset + UInt64(buffer.count)
        for chunk in layout.chunks(offset..<end) {
            let range = layout.range(of: chunk)
            let part = range.clamped(to: offset..<end)
            let start = Int(part.lowerBound - offset)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + part.count])
            switch places.withLock({ $0[chunk] }) {
            case .disk:
                guard try readFromDisk(into: target, at: part.lowerBound) else { return false }
            case .memory:
                let key = ChunkMemory.Key(stream: id, chunk: chunk)
                guard memory.read(key, from: Int(part.lowerBound - range.lowerBound), into: target) else {
                    return false
                }
            case nil: return false
            }
        }
        return true
    }

    private func readFromDisk(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws -> Bool {
        switch disk {
        case .plain(let file): return try file.read(into: buffer, at: offset)
        case .sealed(let file):
            do throws(CryptographyError) {
                return try file.read(into: buffer, at: offset) == buffer.count
            } catch  where error.code == .notAuthentic {
                return false
            }
        case nil: return false
        }
    }
}

/// Bytes of decrypted blocks on the disk, over all files of a cache.
final class CacheUsage: Sendable {
    private let bytes = Lock<UInt64>(0)

    var total: UInt64 { bytes.withLock { $0 } }
    func take(_ count: UInt64) { bytes.withLock { $0 += count } }
    func give(_ count: UInt64) { bytes.withLock { $0 -= min(count, $0) } }
}
