/// Limits of the chunks in flight, which take most of a mount's memory beside its code. With the defaults, three chunks
/// of 4 MiB keep the relays busy. Two suffice for a near relay, which fills its line with one.
public struct FetchSettings: Sendable {
    /// Chunks in flight for one file.
    public var chunksPerFile = 4
    /// Chunks of one file in flight or being written, without waiting readers.
    static let chunksInMemory = 5
    /// Chunks in flight from one relay, so that a silent relay delays only its own files.
    public var chunksPerRelay = 4
    /// Bytes of chunks in flight or being written, over all files.
    public var bytesInFlight: UInt64 = 16 << 20
    /// Time from a request to the last byte of a chunk below which a relay is near, unless it is far.
    public var nearWithin: Duration = .milliseconds(200)
    /// Bytes of chunks in flight or being written from one near relay, over all files. `bytesForDemand` is part of it.
    public var bytesFromNear: UInt64 = 12 << 20
    /// Latency above which a relay is far: the shortest round trip, or time from a request to its first byte. Meanwhile
    /// other requests fill the line.
    public var farAfter: Duration = .milliseconds(20)
    /// Additional chunks in flight, per file and per relay, for a far relay. They fill the line while the first four
    /// wait for their first byte.
    public var moreFromFar = 3
    /// Additional bytes in flight, beyond `bytesInFlight`, for chunks of far relays.
    public var moreBytesFromFar: UInt64 = 16 << 20
    /// Additional chunks in flight to a far relay while others are nearly complete; a request sent after them would be a
    /// round trip late. Their memory is untouched until then.
    public var requestsAheadToFar = 4
    /// Part of `bytesInFlight` reserved for waiting readers.
    public var bytesForDemand: UInt64 = 4 << 20
    /// Chunks in flight in all, including those of silent relays.
    public var chunksInFlight = 64
    /// Chunks of an earlier mount in comparison with their digests, over all files.
    public var chunksInCheck = 2
    /// Time without received bytes after which a chunk no longer counts for `bytesInFlight`. Most of its buffer is
    /// untouched memory.
    public var stalledAfter: Duration = .seconds(3)
    /// Chunks in flight in the background, over all files.
    public var backgroundChunks = 2
    /// Chunks of read-ahead and whole downloads after which one of the background goes first.
    public var aheadPerBackground = 8

    public init() {}

    /// The largest number of chunks that one file can have in flight. More requests have no effect.
    public var maxRequests: Int { chunksPerFile + moreFromFar + requestsAheadToFar }
}
