import ChatCore
import XFTP

/// Limits of the hydrator.
public struct HydrationSettings: Sendable {
    public var fetching = FetchSettings()
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
