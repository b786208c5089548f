import Base
import Glibc

/// Decrypted chunks in memory, up to a number of bytes: all there is without a cache on disk, and the way
/// out when the disk is full. What was used longest ago goes first. Any thread.
final class ChunkMemory: Sendable {
    struct Key: Hashable, Sendable {
        /// Of the stream.
        var stream: UInt64
        var chunk: Int
    }

    private struct State {
        var chunks: [Key: (bytes: LockedPages, lastUse: UInt64)] = [:]
        var held: UInt64 = 0
        var uses: UInt64 = 0
    }

    private let limit: UInt64
    private let state = Lock(State())

    init(limit: UInt64) { self.limit = limit }

    /// Keeps a chunk, at the cost of others: answers which. One that is larger than the limit is kept
    /// alone.
    func keep(_ key: Key, count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) -> [Key] {
        let pages = LockedPages(count: count)
        fill(pages.bytes)
        // Pages are given back outside the lock.
        let (gone, released) = state.withLock { state -> ([Key], [LockedPages]) in
            var gone: [Key] = []
            var released: [LockedPages] = []
            if let before = state.chunks.removeValue(forKey: key) {
                state.held -= UInt64(before.bytes.bytes.count)
                released.append(before.bytes)
            }
            while state.held + UInt64(count) > limit,
                let oldest = state.chunks.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.held -= UInt64(oldest.value.bytes.bytes.count)
                state.chunks[oldest.key] = nil
                gone.append(oldest.key)
                released.append(oldest.value.bytes)
            }
            state.uses += 1
            state.chunks[key] = (pages, state.uses)
            state.held += UInt64(count)
            return (gone, released)
        }
        withExtendedLifetime(released) {}
        return gone
    }

    func holds(_ key: Key) -> Bool { state.withLock { $0.chunks[key] != nil } }

    /// False when the chunk is not held any more.
    func read(_ key: Key, from offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let pages: LockedPages? = state.withLock { state in
            state.uses += 1
            state.chunks[key]?.lastUse = state.uses
            return state.chunks[key]?.bytes
        }
        guard let pages, offset + buffer.count <= pages.bytes.count else { return false }
        buffer.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: pages.bytes[offset..<offset + buffer.count]))
        return true
    }

    /// Lets go of a chunk.
    func drop(_ key: Key) {
        let released = state.withLock { state in
            let pages = state.chunks.removeValue(forKey: key)?.bytes
            state.held -= UInt64(pages?.bytes.count ?? 0)
            return pages
        }
        withExtendedLifetime(released) {}
    }

    /// Lets go of all chunks of a stream.
    func drop(stream: UInt64) {
        let released = state.withLock { state in
            let keys = state.chunks.keys.filter { $0.stream == stream }
            return keys.compactMap { key -> LockedPages? in
                let pages = state.chunks.removeValue(forKey: key)?.bytes
                state.held -= UInt64(pages?.bytes.count ?? 0)
                return pages
            }
        }
        withExtendedLifetime(released) {}
    }
}

/// Decrypted bytes in pages of their own that are kept out of swap where the system allows it, and out of
/// core dumps.
private final class LockedPages: @unchecked Sendable {
    // Safe: filled before it is shared, only read afterwards.
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        let pages = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let pages, pages != MAP_FAILED else {
            fatalError("out of memory for a chunk of \(count) bytes")
        }
        mlock(pages, count)
        madvise(pages, count, Int32(MADV_DONTDUMP))
        bytes = UnsafeMutableRawBufferPointer(start: pages, count: count)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }
}
