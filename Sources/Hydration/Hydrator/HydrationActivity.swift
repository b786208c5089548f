/// Counters and queue lengths of a hydrator.
public struct HydrationActivity: Hashable, Sendable {
    /// Reads whose bytes were on this machine.
    public var hits: UInt64
    /// Reads that waited for bytes.
    public var misses: UInt64
    /// Reads that failed without waiting.
    public var failures: UInt64
    /// Files whose bytes left the cache.
    public var evictions: UInt64
    /// Bytes of partly received files and plain copies on the disk.
    public var cachedBytes: UInt64
    /// Files that request chunks.
    public var waitingFiles: Int
    /// Chunks that are being fetched.
    public var fetchedChunks: Int
}

extension Hydrator {
    /// From memory, at once.
    public var activity: HydrationActivity {
        let (reads, load) = (context.reads, context.transfers.load)
        return HydrationActivity(
            hits: reads.hits, misses: reads.misses, failures: reads.failures, evictions: reads.evictions,
            cachedBytes: context.cache.usage.used, waitingFiles: load.files, fetchedChunks: load.chunks)
    }
}
