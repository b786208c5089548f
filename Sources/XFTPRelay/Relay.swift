import Base
import Network
import Posix
import Store
import XFTP

/// A relay for encrypted chunks (XFTP protocol). The owner of a chunk's sender key can upload, extend and delete it;
/// the owner of a recipient key can fetch it. The relay learns nothing else.
///
/// Chunks are files, records are in SQLite. A chunk is acknowledged when both are on disk, so a crash never loses an
/// acknowledged chunk.
public final class Relay: Sendable {
    /// The relay's address with its certificate fingerprint and without its password.
    public let address: RelayAddress
    /// The relay's certificates. Other servers of the same operator may use them too.
    public var identity: ServerIdentity { service.identity }
    private let server: HTTP2Server
    private let service: RelayService
    private let folder: RelayFolder
    private let sweeper: Sweeper

    /// Starts a relay: loads or creates its identity, cleans up after a crash, and listens. Blocks on the disk.
    /// - Throws: All of `RelayError.Code`.
    public static func start(_ settings: RelaySettings) throws(RelayError) -> Relay {
        let folder = try RelayFolder(settings.folder)
        let identity = try IdentityFiles(folder.folder, key: settings.key).identity(settings.certificate)
        let service = try makeService(settings, folder, identity)
        let server = try listen(settings, folder, identity, RelayHandler(service: service))
        do throws(SystemError) {
            let sweeper = try Sweeper(service: service, expiry: settings.expiry)
            return Relay(settings, folder, service, server, sweeper)
        } catch {
            throw RelayError(.folder, error.sentence, cause: error)
        }
    }

    /// The database file in the relay's folder.
    public static var recordsFile: String { RelayFolder.recordsFile }

    /// The lock file in the relay's folder, locked from start to stop.
    public static var lockFile: String { RelayFolder.lockFile }

    /// Creates the folder of a new relay. Blocks on the disk.
    /// - Throws: The errors of `PrivateFolder`.
    public static func makeFolder(_ path: String) throws(SystemError) { _ = try RelayFolder.make(path) }

    private init(
        _ settings: RelaySettings, _ folder: RelayFolder, _ service: RelayService, _ server: HTTP2Server,
        _ sweeper: Sweeper
    ) {
        self.folder = folder
        self.service = service
        self.server = server
        address = RelayAddress(
            fingerprint: service.identity.fingerprint,
            hosts: [settings.host ?? settings.listen.reachableHost], port: server.endpoint.port)
        self.sweeper = sweeper
    }

    static func makeService(
        _ settings: RelaySettings, _ folder: RelayFolder, _ identity: ServerIdentity
    ) throws(RelayError) -> RelayService {
        do {
            let records = try RelayRecords(
                path: folder.recordsPath, key: settings.key, random: settings.random)
            let quota = Budget(limit: settings.quota ?? .max)
            quota.takeAnyway(try records.storedSize())
            let files = ChunkFiles(folder: folder, quota: quota)
            for record in try files.tidy(records.storedChunks()) {
                Log("relay").warning("chunk missing on disk: size=\(record.size)")
                try records.markLost(record.id)
            }
            return RelayService(
                settings: settings, identity: identity, records: records, files: files, quota: quota)
        } catch let error as StoreError {
            throw RelayError(.records, error.sentence, cause: error)
        } catch {
            throw RelayError(.folder, sentence(of: error), cause: error)
        }
    }

    private static func listen(
        _ settings: RelaySettings, _ folder: RelayFolder, _ identity: ServerIdentity, _ handler: RelayHandler
    ) throws(RelayError) -> HTTP2Server {
        do throws(NetworkError) {
            return try KeptPort(folder.folder).listen(on: settings.listen, port: \.endpoint.port) {
                endpoint throws(NetworkError) in
                try HTTP2Server.start(
                    on: endpoint, tls: TLSServerSettings(identity: identity), limits: settings.limits,
                    handler: handler)
            }
        } catch {
            throw RelayError(
                .address, "The relay cannot listen on \(settings.listen). \(error.sentence)", cause: error)
        }
    }

    /// Closes all connections. Returns when all work of the relay has ended.
    public func stop() async {
        await server.stop()
        await sweeper.stop()
        folder.release()
    }

    /// Deletes expired chunks now, as the relay also does periodically. Returns the number of deleted chunks. Blocks on
    /// the disk.
    /// - Throws: `StoreError` of the records, `SystemError` of the folder.
    @discardableResult
    public func expire() throws -> Int { try service.expire(asOf: service.now) }

    /// Returns the relay's statistics. Blocks on the disk.
    /// - Throws: `StoreError` of the records.
    public func statistics() throws -> RelayStatistics {
        try service.statistics(connections: server.connectionCount)
    }

    /// Deletes chunks and unfinished uploads older than `age`. Returns the number of deleted chunks. Blocks on the
    /// disk.
    /// - Parameter age: The minimum age, or nil for all chunks.
    /// - Throws: The errors of `expire`.
    public func purge(olderThan age: Duration?) throws -> Int { try service.purge(olderThan: age) }

    /// The bytes of stored chunks.
    public var storedBytes: UInt64 { service.files.stored }
}

/// Creates a session for each connection.
struct RelayHandler: HTTP2ServerHandler {
    let service: RelayService

    func connected(channelBinding: [UInt8], from peer: PeerAddress) -> any ServerConnectionHandler {
        RelaySession(service: service, sessionID: channelBinding, peer: peer)
    }
}
