/// The wanted chunks of one file, each list in order and no longer than `FetchSettings.maxRequests`.
public struct FetchRequests: Hashable, Sendable {
    /// Chunks of an earlier mount to compare with their digests.
    public var checks: [Int]
    /// For waiting readers.
    public var demand: [Int] = []
    /// Ahead of readers, or for a wait for the whole file.
    public var ahead: [Int] = []
    /// To receive the file completely without a request of a user, and retries.
    public var background: [Int] = []
    /// True if fetches in flight are still useful.
    public var isWanted = false
    /// True for a file without readers whose chunks are stored one after the other. Such files leave a place at each
    /// relay to others, unless others fill the relay. Their arrived chunks may wait for a silent relay, so they delay
    /// others as briefly as stalled chunks.
    public var isInOrder = false

    public init(checks: [Int] = []) { self.checks = checks }

    public var isEmpty: Bool { checks.isEmpty && demand.isEmpty && ahead.isEmpty && background.isEmpty }
}
