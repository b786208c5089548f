import Base
import Network
import Posix
import SMP

/// A server for message queues (SMP, versions 15 to 17). The owner of a queue's recipient key fetches messages. A
/// client with the sender's id, or with the key that secures the queue, sends them. The relay cannot read them.
///
/// A command is answered after its effect is on disk, so a crash never loses acknowledged changes.
public final class MessageRelay: Sendable {
    /// The relay's address, without its password.
    public let address: ServerAddress
    private let server: BlockServer
    let service: QueueService
    private let folder: MessageRelayFolder

    /// Opens the records and listens. Blocks on the disk.
    /// - Throws: `.folder`, `.inUse`, `.records`, `.address`.
    public static func start(_ settings: MessageRelaySettings) throws(MessageRelayError) -> MessageRelay {
        let host = settings.host ?? settings.listen.reachableHost
        // Check this before opening resources.
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
        MessageRelayError(.address, "\(host) cannot be part of a relay's address; choose another --host.")
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

    /// Closes all connections. Returns when all work of the relay has ended.
    public func stop() async {
        await server.stop()
        await service.stop()
        folder.release()
    }

    /// The memory of clients' requests and answers in bytes, beyond 52 KiB for each.
    public var memoryInUse: Int { Int(service.budget.used) }

    /// The number of open connections.
    public var connectionCount: Int { server.connectionCount }
}
