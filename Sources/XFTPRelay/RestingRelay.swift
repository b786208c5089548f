import Network

/// Access to the folder of a relay that is not running.
public final class RestingRelay: Sendable {
    private let folder: RelayFolder
    private let service: RelayService

    /// Opens the folder. Blocks on the disk.
    /// - Throws: `.folder`, `.inUse` if a relay runs, `.records`, `.certificates`.
    public init(_ settings: RelaySettings) throws(RelayError) {
        folder = try RelayFolder(settings.folder)
        let identity = try IdentityFiles(folder.folder, key: settings.key).identity(nil)
        service = try Relay.makeService(settings, folder, identity)
    }

    /// The identity that the message relay in the folder shares.
    public var identity: ServerIdentity { service.identity }

    /// Returns the relay's statistics.
    /// - Throws: The errors of `Relay.statistics`.
    public func statistics() throws -> RelayStatistics { try service.statistics(connections: 0) }

    /// Deletes old chunks like `Relay.purge`.
    /// - Throws: The errors of `Relay.purge`.
    public func purge(olderThan age: Duration?) throws -> Int { try service.purge(olderThan: age) }

    /// Unlocks the folder.
    public func close() {
        service.records.database.close()
        folder.release()
    }
}
