import ChatCore

/// Limits of the hydrator. With the defaults a mount's peak memory stays below 64 MiB, while four chunks of 4
/// MiB per file keep the relays busy.
public struct HydrationSettings: Sendable {
    /// Chunks in flight for one file.
    public var chunksPerFile = 4
    /// Chunks of one file in flight or being written, without waiting readers.
    static let chunksInMemory = 5
    /// Chunks in flight from one relay, so that a silent relay delays only its own files.
    public var chunksPerRelay = 4
    /// Bytes of chunks in flight or being written, over all files.
    public var bytesInFlight: UInt64 = 20 << 20
    /// Latency above which a relay is far: the shortest time from a request to its first byte. Meanwhile
    /// other requests fill the line.
    public var farAfter: Duration = .milliseconds(20)
    /// Additional chunks in flight, per file and per relay, for a far relay. They fill the line while the
    /// first four wait for their first byte.
    public var moreFromFar = 3
    /// Additional bytes in flight, beyond `bytesInFlight`, if the next chunk is from a far relay.
    public var moreBytesFromFar: UInt64 = 12 << 20
    /// Additional chunks in flight to a far relay while others are nearly complete; a request sent after them
    /// would be a round trip late. Their memory is untouched until then.
    public var requestsAheadToFar = 4
    /// Part of `bytesInFlight` reserved for waiting readers.
    public var bytesForDemand: UInt64 = 4 << 20
    /// Chunks in flight in all, including those of silent relays.
    public var chunksInFlight = 64
    /// Chunks of an earlier mount in comparison with their digests, over all files.
    public var chunksInCheck = 2
    /// Time without received bytes after which a chunk no longer counts for `bytesInFlight`. Most of its
    /// buffer is untouched memory.
    public var stalledAfter: Duration = .seconds(3)
    /// Chunks to fetch ahead of a long sequential reader.
    public var chunksAhead = 12
    /// Time during which reads get the last failure without a new try. The kernel repeats a failed read at
    /// once, with 4 KiB.
    public var failureMemory: Duration = .seconds(2)
    /// First retry delay of a failed fetch or step without a waiting reader. It doubles with each failure, up
    /// to one minute.
    public var pauseAfterFailure: Duration = .seconds(2)
    /// If true, a file is received completely once readers took more than its first chunk, even after the
    /// last close. Reads of the start or of single places do not count.
    public var finishesWhatWasRead = true
    /// Chunks in flight without a reader, over all files.
    public var backgroundChunks = 2

    /// Place of bytes that the core does not keep.
    public var cacheMode = CacheMode.sealed
    /// Maximum bytes of partly received files and plain copies; nil means no limit. Open and pinned files are
    /// never evicted. Chunks beyond the limit go through `spareMemory`, except those of files that are
    /// received whole.
    public var cacheLimit: UInt64?
    /// Free bytes on the disk that the cache leaves.
    public var minimumFree: UInt64 = FilePolicy.minimumFree
    /// Bytes of memory for chunks that do not fit on the disk.
    public var spareMemory: UInt64 = 64 << 20
    /// Bytes of memory for written chunks that a reader will request next; 0 for none.
    public var unreadMemory: UInt64 = 4 << 20
    /// Open stored files; beyond this number the least recently used ones are closed.
    public var filesKeptOpen = 256

    public init() {}

    func backoff(afterFailures count: Int) -> Duration {
        min(pauseAfterFailure * (1 << min(count - 1, 10)), .seconds(60))
    }
}
