import Base

/// An LRU cache of chunks in memory with a limit in bytes: the only cache in the memory mode and the fallback
/// for a full disk. They are encrypted as they came. Thread-safe.
final class ChunkMemory: Sendable {
    struct Key: Hashable, Sendable {
        /// Number of the store.
        var store: UInt64
        var chunk: Int
    }

    private struct State {
        var chunks: [Key: (chunk: any FetchedChunk, lastUse: UInt64)] = [:]
        var held: UInt64 = 0
        var uses: UInt64 = 0

        var leastRecentlyUsed: Key? { chunks.min { $0.value.lastUse < $1.value.lastUse }?.key }

        mutating func take(_ key: Key) -> (any FetchedChunk)? {
            guard let chunk = chunks.removeValue(forKey: key)?.chunk else { return nil }
            held -= UInt64(chunk.bytes.count)
            return chunk
        }
    }

    private let limit: UInt64
    private let state = Lock(State())

    init(limit: UInt64) { self.limit = limit }

    /// Keeps a chunk and returns the chunks evicted for it.
    /// - Parameter evictable: The chunks that may be evicted, in order; the new chunk is not kept if they do not free
    ///   enough. nil: all, least recently used first; a chunk larger than the limit is then kept alone.
    @discardableResult
    func keep(_ key: Key, _ chunk: any FetchedChunk, evicting evictable: [Key]? = nil) -> [Key] {
        let size = UInt64(chunk.bytes.count)
        // Chunks free their memory outside the lock.
        let (gone, released) = state.withLock { state -> ([Key], [(any FetchedChunk)?]) in
            var gone: [Key] = []
            var released = [state.take(key)]
            var listed = evictable?[...]
            while state.held + size > limit,
                let other = evictable == nil ? state.leastRecentlyUsed : listed?.popFirst()
            {
                guard let evicted = state.take(other) else { continue }
                released.append(evicted)
                gone.append(other)
            }
            guard evictable == nil || state.held + size <= limit else { return (gone, released) }
            state.uses += 1
            state.chunks[key] = (chunk, state.uses)
            state.held += size
            return (gone, released)
        }
        withExtendedLifetime(released) {}
        return gone
    }

    /// The keys of a store, and those of all others.
    func keys(of store: UInt64) -> (own: [Key], others: [Key]) {
        let keys = state.withLock { Array($0.chunks.keys) }
        return (keys.filter { $0.store == store }, keys.filter { $0.store != store })
    }

    func holds(_ key: Key) -> Bool { state.withLock { $0.chunks[key] != nil } }

    /// The chunk, for a use; nil if it was evicted.
    func use(_ key: Key) -> (any FetchedChunk)? {
        state.withLock { state in
            state.uses += 1
            state.chunks[key]?.lastUse = state.uses
            return state.chunks[key]?.chunk
        }
    }

    /// Drops a chunk.
    func drop(_ key: Key) {
        let released = state.withLock { $0.take(key) }
        withExtendedLifetime(released) {}
    }

    /// Drops all chunks of a store.
    func drop(store: UInt64) {
        let released = state.withLock { state in
            state.chunks.keys.filter { $0.store == store }.map { state.take($0) }
        }
        withExtendedLifetime(released) {}
    }
}
