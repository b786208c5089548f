import Base
import Network
import Posix
import SMP

/// A server for message queues (SMP, versions 15 to 17): whoever has a queue's recipient key fetches, whoever knows its
/// sender's id, or has the key with which it was secured, sends, and the relay can read nothing of it.
///
/// A command is answered when what it did is on disk, so a crash at any moment loses nothing that was acknowledged.
public final class MessageRelay: Sendable {
    /// How to reach it, without its password.
    public let address: ServerAddress
    private let server: BlockServer
    let service: QueueService
    private let folder: MessageRelayFolder

    /// Reads the records, listens and serves. Blocks for the disk.
    /// - Throws: `.folder`, `.inUse`, `.records`, `.address`.
    public static func start(_ settings: MessageRelaySettings) throws(MessageRelayError) -> MessageRelay {
        let host = settings.host ?? settings.listen.reachableHost
        // Before anything is begun that would have to be ended.
        guard ServerAddress(fingerprint: settings.identity.fingerprint, hosts: [host]) != nil else {
            throw unwritable(host)
        }
        let folder = try MessageRelayFolder(settings.folder)
        let service = try QueueService.start(path: folder.recordsPath, settings: settings)
        let server: BlockServer
        do throws(MessageRelayError) {
            server = try listen(settings, folder, service)
        } catch {
            Task { await service.stop() }
            throw error
        }
        guard
            let address = ServerAddress(
                fingerprint: settings.identity.fingerprint, hosts: [host], port: server.endpoint.port)
        else {
            Task {
                await server.stop()
                await service.stop()
            }
            throw unwritable(host)
        }
        return MessageRelay(address, server, service, folder)
    }

    private static func unwritable(_ host: String) -> MessageRelayError {
        MessageRelayError(.address, "Nobody can be told of a relay that listens on \(host).")
    }

    private init(
        _ address: ServerAddress, _ server: BlockServer, _ service: QueueService,
        _ folder: MessageRelayFolder
    ) {
        self.address = address
        self.server = server
        self.service = service
        self.folder = folder
    }

    private static func listen(
        _ settings: MessageRelaySettings, _ folder: MessageRelayFolder, _ service: QueueService
    ) throws(MessageRelayError) -> BlockServer {
        let last = Lock<UInt64>(0)
        let tls = TLSServerSettings(identity: settings.identity, applicationProtocols: ["smp/1"])
        do throws(NetworkError) {
            return try KeptPort(folder.folder).listen(on: settings.listen, port: \.endpoint.port) {
                endpoint throws(NetworkError) in
                try BlockServer.start(
                    on: endpoint, tls: tls, size: TransportBlock.size,
                    connections: settings.limits.connections,
                    connectionsOfPeer: settings.limits.connectionsOfPeer,
                    handshake: settings.limits.handshake,
                    turns: service.turns
                ) { connection in
                    let number = last.withLock { last in
                        last += 1
                        return last
                    }
                    var client = try ClientConnection(
                        connection, number: number, service: service, settings: settings)
                    try client.serve()
                }
            }
        } catch {
            throw MessageRelayError(
                .address, "The message relay cannot listen on \(settings.listen). \(error.sentence)",
                cause: error)
        }
    }

    /// Closes all connections and returns when nothing of the relay runs any more.
    public func stop() async {
        await server.stop()
        await service.stop()
        folder.release()
    }

    /// Bytes that clients have in memory, with what they asked and are told, beyond 52 KiB for each.
    public var memoryInUse: Int { service.budget.used }

    /// Connections that are open now.
    public var connectionCount: Int { server.connectionCount }
}
