import Base

/// What a relay has, for its operator.
public struct RelayStatistics: Hashable, Sendable {
    /// Chunks, and how many of them wait for their bytes.
    public var chunks: Int
    public var unfinished: Int
    /// Bytes of the quota in use; nil as quota: none but the disk.
    public var bytes: UInt64
    public var quota: UInt64?
    /// Connections that are open now.
    public var connections: Int
}

extension RelayService {
    func statistics(connections: Int) throws -> RelayStatistics {
        let counts = try records.counts()
        return RelayStatistics(
            chunks: counts.chunks, unfinished: counts.unfinished, bytes: quota.taken, quota: quota.most,
            connections: connections)
    }

    /// - Parameter age: nil for all.
    func purge(olderThan age: Duration?) throws -> Int {
        // Whatever time a record names is before this.
        try purge(olderThan: age?.components.seconds ?? -(1 << 40))
    }
}
