import Base

/// The statistics of a relay for its operator.
public struct RelayStatistics: Hashable, Sendable {
    /// The number of chunks, and of those without bytes.
    public var chunks: Int
    public var unfinished: Int
    /// The used bytes of the quota, and the quota, or nil for no limit.
    public var bytes: UInt64
    public var quota: UInt64?
    /// The number of open connections.
    public var connections: Int
}

extension RelayService {
    func statistics(connections: Int) throws -> RelayStatistics {
        let counts = try records.counts()
        return RelayStatistics(
            chunks: counts.chunks, unfinished: counts.unfinished, bytes: quota.used,
            quota: settings.quota, connections: connections)
    }

    /// - Parameter age: The minimum age, or nil for all chunks.
    func purge(olderThan age: Duration?) throws -> Int {
        // Later than any creation time.
        try purge(olderThan: age?.components.seconds ?? -(1 << 40))
    }
}
