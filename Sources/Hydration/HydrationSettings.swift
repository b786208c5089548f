import ChatCore

/// Bounds of what the hydrator does at once and keeps. The defaults keep the peak memory of a mount under
/// 64 MiB while four chunks of 4 MiB a file keep the relays busy.
public struct HydrationSettings: Sendable {
    /// Chunks in flight for one file.
    public var chunksPerFile = 4
    /// Chunks of one file that are in flight or wait in memory for the check of the whole, as long as nobody needs
    /// another one: what comes long before it can be checked is only kept elsewhere and read back.
    static let chunksBeforeCheck = 5
    /// The longest that a chunk waits in memory for the check while the check does nothing. Chunks side by side
    /// complete within a shorter time; one that hangs must not hold the memory of the others.
    var checkIdleTimeout: Duration = .milliseconds(250)
    /// Chunks in flight from one relay: a silent relay holds up its own files only.
    public var chunksPerRelay = 4
    /// Bytes of chunks in flight, or in memory on their way through the check, over all files.
    public var bytesInFlight: UInt64 = 20 << 20
    /// A relay is far away when it always takes longer than this from a request to the first byte. That time is
    /// the request's alone: others fill the line meanwhile.
    public var farAfter: Duration = .milliseconds(20)
    /// Chunks in flight beyond the bounds for one file and one relay, when the relay is far away. Four fill its
    /// line for about as long as a request takes, these while the four are under way.
    public var moreFromFar = 3
    /// Bytes of chunks in flight, when the next one comes from far away, beyond `bytesInFlight`.
    public var moreBytesFromFar: UInt64 = 12 << 20
    /// And so many more while others from there are nearly here: what is asked for when the line is free again
    /// comes a round trip too late. Until then their memory is untouched.
    public var requestsAheadToFar = 4
    /// Of `bytesInFlight`, kept free for bytes that somebody waits for.
    public var bytesForDemand: UInt64 = 4 << 20
    /// Chunks in flight in all, those from silent relays included.
    public var chunksInFlight = 64
    /// A chunk of which no byte came for so long leaves its share of `bytesInFlight` to others: its buffer is
    /// mostly untouched memory.
    public var stalledAfter: Duration = .seconds(3)
    /// Chunks fetched ahead of a reader who has long been reading on.
    public var chunksAhead = 12
    /// How long a failure is answered again without a new try. The kernel repeats a failed read at once
    /// as one of 4 KiB.
    public var failureMemory: Duration = .seconds(2)
    /// Pause after a failed fetch, or another failed step, that nobody waits for; twice as long each time, up
    /// to a minute.
    public var pauseAfterFailure: Duration = .seconds(2)
    /// What was opened is also received for good: once readers have taken more of a file than its first
    /// chunk holds, the rest is fetched with what they leave free, also after the last of them has gone.
    /// A look at the beginning or at some place brings nothing more.
    public var finishesWhatWasRead = true
    /// Chunks in flight at once that no reader has asked for, over all files.
    public var backgroundChunks = 2

    /// Where decrypted blocks lie.
    public var cacheMode = CacheMode.sealed
    /// Bytes of decrypted blocks kept, nil without a limit. What is open or pinned is never taken away for
    /// it; what then does not fit goes through `spareMemory`.
    public var cacheLimit: UInt64?
    /// Bytes of the disk that the cache leaves free.
    public var minimumFree: UInt64 = FilePolicy.minimumFree
    /// Memory for chunks that do not fit on the disk.
    public var spareMemory: UInt64 = 64 << 20
    /// Stored files that are kept open for reading; those unused for longest are closed.
    public var filesKeptOpen = 256

    public init() {}

    func backoff(afterFailures count: Int) -> Duration {
        min(pauseAfterFailure * (1 << min(count - 1, 10)), .seconds(60))
    }
}
