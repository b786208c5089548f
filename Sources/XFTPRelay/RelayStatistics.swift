import Base
import Network

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

/// The folder of a relay that does not run.
public final class RestingRelay: Sendable {
    private let folder: RelayFolder
    private let service: RelayService

    /// Blocks for the disk.
    /// - Throws: `.folder`, `.inUse` where a relay runs, `.records`, `.certificates`.
    public init(_ settings: RelaySettings) throws(RelayError) {
        folder = try RelayFolder(settings.folder)
        let identity = try IdentityFiles(folder.folder, key: settings.key).identity(nil)
        service = try Relay.makeService(settings, folder, identity)
    }

    /// With which the relay for messages in the folder shows itself.
    public var identity: ServerIdentity { service.identity }

    /// As of a relay that runs.
    /// - Throws: as `Relay.statistics`.
    public func statistics() throws -> RelayStatistics { try service.statistics(connections: 0) }

    /// As of a relay that runs.
    /// - Throws: as `Relay.purge`.
    public func purge(olderThan age: Duration?) throws -> Int { try service.purge(olderThan: age) }

    /// Lets a relay start.
    public func close() {
        service.records.database.close()
        folder.release()
    }
}
