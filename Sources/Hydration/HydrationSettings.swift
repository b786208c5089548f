/// Bounds of what the hydrator does at once. The defaults keep the peak memory of a mount under 64 MiB
/// while four chunks of 4 MiB a file keep the relays busy.
public struct HydrationSettings: Sendable {
    /// Chunks in flight for one file.
    public var chunksPerFile = 4
    /// Chunks in flight from one relay: a silent relay holds up its own files only.
    public var chunksPerRelay = 4
    /// Bytes of chunks in flight over all files.
    public var bytesInFlight: UInt64 = 24 << 20
    /// Of these, kept free for bytes that somebody waits for.
    public var bytesForDemand: UInt64 = 4 << 20
    /// Chunks in flight in all, those from silent relays included.
    public var chunksInFlight = 64
    /// A chunk of which no byte came for so long leaves its share of `bytesInFlight` to others: its buffer is
    /// mostly untouched memory.
    public var stalledAfter: Duration = .seconds(3)
    /// Chunks fetched ahead of a reader who has long been reading on.
    public var chunksAhead = 8
    /// How long a failure is answered again without a new try. The kernel repeats a failed read at once
    /// as one of 4 KiB.
    public var failureMemory: Duration = .seconds(2)
    /// Pause after a failed fetch ahead; twice as long each time, up to a minute.
    public var pauseAfterFailure: Duration = .seconds(2)

    public init() {}
}
