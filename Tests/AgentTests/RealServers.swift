import Base
import Network
import Ratchet
import SMP
import SMPClient
import SMPRelay
import TestSupport

@testable import Agent

/// TLS connections as in the program.
final class RealServers: EndingServers {
    private let connections = QueueConnections(
        ConnectionSettings(
            policy: .everything, connectTimeout: .seconds(60),
            retry: RetryPolicy(first: .milliseconds(50), maxDelay: .milliseconds(400), tries: .max)))

    func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer {
        try await connections.ask(request, of: server)
    }

    func ask(_ requests: [ClientRequest], of server: ServerAddress) async -> [Result<Answer, SMPError>] {
        await connections.ask(requests, of: server)
    }

    var events: AsyncStream<QueueServerEvent> { connections.events }

    func end() async { await connections.close() }

    /// Simulates sleep and wake-up.
    func suspend() { connections.suspend() }
    func resume() { connections.resume() }

    /// A person that uses one real server.
    static func person(on server: ServerAddress) async throws -> Person {
        try await Person(
            MemoryRelay(), postQuantum: true, kem: GcryptKEM.installed,
            connections: (server, { RealServers() }))
    }
}

/// Our relay on loopback; it can be restarted.
final class RealRelay: Sendable {
    private let folder: TemporaryFolder
    private let identity: ServerIdentity
    private let running: Lock<MessageRelay>

    init() throws {
        folder = try TemporaryFolder()
        identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        running = Lock(try Self.start(folder, identity, port: 0))
    }

    private static func start(
        _ folder: TemporaryFolder, _ identity: ServerIdentity, port: UInt16
    ) throws -> MessageRelay {
        var settings = MessageRelaySettings(folder: folder.path("relay"), identity: identity)
        if port > 0 { settings.listen = Endpoint(host: settings.listen.host, port: port) }
        return try MessageRelay.start(settings)
    }

    var server: ServerAddress { running.withLock { $0 }.address }

    /// Restarts on the same port.
    func restart() async throws {
        let before = running.withLock { $0 }
        let port = before.address.port
        await before.stop()
        let next = try Self.start(folder, identity, port: port)
        running.withLock { $0 = next }
    }

    func stop() async { await running.withLock { $0 }.stop() }
}
