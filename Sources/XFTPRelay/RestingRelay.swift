import Network

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
