import Base
import Network
import Posix
import Store
import XFTP

/// A relay for encrypted chunks (XFTP protocol): whoever has an upload's sender key can fill, extend
/// and delete it, whoever has a recipient key can fetch it, and the relay learns nothing else.
///
/// Chunks lie in files, records in SQLite. A chunk is acknowledged when both are on disk, so a crash
/// at any moment loses nothing that was acknowledged.
public final class Relay: Sendable {
    /// How to reach it, with the fingerprint of its certificates and without its password.
    public let address: RelayAddress
    /// Its certificates, with which other servers of the same operator may show themselves too.
    public var identity: ServerIdentity { service.identity }
    private let server: HTTP2Server
    private let service: RelayService
    private let folder: RelayFolder
    private let sweeper: Sweeper

    /// Starts a relay: reads or makes its identity, tidies up after a crash, listens. Blocks for the
    /// disk.
    /// - Throws: all of `RelayError.Code`.
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

    /// What is in its folder wherever something is kept.
    public static var recordsFile: String { RelayFolder.recordsFile }

    /// In its folder; locked from start to stop.
    public static var lockFile: String { RelayFolder.lockFile }

    /// Makes the folder of a new one, for what comes before its records. Blocks.
    /// - Throws: as `PrivateFolder`.
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
            let quota = Quota(settings.quota)
            quota.count(try records.storedSize())
            let files = ChunkFiles(folder: folder, quota: quota)
            for record in try files.tidy(records.storedChunks()) {
                Log("relay").warning("The bytes of a chunk are missing on disk.")
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

    /// Closes all connections and returns when nothing of the relay runs any more.
    public func stop() async {
        await server.stop()
        await sweeper.stop()
        folder.release()
    }

    /// Deletes what has expired by now, as the relay does by itself now and then. Answers how many
    /// chunks. Blocks.
    /// - Throws: `StoreError` of the records, `SystemError` of the folder.
    @discardableResult
    public func expire() throws -> Int { try service.expire(asOf: service.now) }

    /// What it has now. Blocks for the disk.
    /// - Throws: `StoreError` of the records.
    public func statistics() throws -> RelayStatistics {
        try service.statistics(connections: server.connectionCount)
    }

    /// Deletes chunks of an age, and what has waited for its bytes for so long. Answers how many. Blocks for the disk.
    /// - Parameter age: nil for all.
    /// - Throws: as `expire`.
    public func purge(olderThan age: Duration?) throws -> Int { try service.purge(olderThan: age) }

    /// Bytes of chunks on disk.
    public var storedBytes: UInt64 { service.files.stored }
}

/// Gives each connection its session.
struct RelayHandler: HTTP2ServerHandler {
    let service: RelayService

    func connected(channelBinding: [UInt8], from peer: PeerAddress) -> any ServerConnectionHandler {
        RelaySession(service: service, sessionID: channelBinding, peer: peer)
    }
}
