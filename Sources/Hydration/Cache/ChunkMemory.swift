import Base
import Glibc

/// An LRU cache of decrypted chunks in memory with a limit in bytes. It is the only cache in the memory mode
/// and the fallback for a full disk. Thread-safe.
final class ChunkMemory: Sendable {
    struct Key: Hashable, Sendable {
        /// Number of the stream.
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

    /// Stores a chunk and returns the chunks evicted for it. A chunk larger than the limit is kept alone.
    func keep(_ key: Key, count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) -> [Key] {
        let pages = LockedPages(count: count)
        fill(pages.bytes)
        // Unmap pages outside the lock.
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

    /// Returns false if the chunk was evicted.
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

    /// Drops a chunk.
    func drop(_ key: Key) {
        let released = state.withLock { state in
            let pages = state.chunks.removeValue(forKey: key)?.bytes
            state.held -= UInt64(pages?.bytes.count ?? 0)
            return pages
        }
        withExtendedLifetime(released) {}
    }

    /// Drops all chunks of a stream.
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

/// Decrypted bytes in their own pages, locked if the system allows it, and excluded from core dumps.
private final class LockedPages: @unchecked Sendable {
    // Safe: filled before it is shared, then only read.
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
