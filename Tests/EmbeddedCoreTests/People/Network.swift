import Agent
import Base
import ChatCore
import Network
import Posix
import SMP
import SMPClient
import SMPRelay
import TestSupport
import Testing

@testable import EmbeddedCore

/// A messaging relay on loopback and an in-memory file relay, connecting two machines.
final class Internet: Sendable {
    let files = MemoryRelay()
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
        try MessageRelay.start(
            MessageRelaySettings(
                folder: folder.path("relay"), listen: Endpoint(host: "127.0.0.1", port: port),
                identity: identity))
    }

    var server: ServerAddress { running.withLock { $0.address } }

    /// Number of connected clients.
    var connectionCount: Int {
        let relay = running.withLock { $0 }
        return relay.connectionCount
    }

    /// Number of queues on the relay.
    func queueCount() async throws -> Int {
        try await running.withLock { $0 }.statistics().queues
    }

    func stop() async { await running.withLock { $0 }.stop() }

    /// Starts again on the same port.
    func start() throws {
        let port = server.port
        running.withLock { _ in }
        let next = try Self.start(folder, identity, port: port)
        running.withLock { $0 = next }
    }

    /// Returns a machine with one open profile.
    func machine(_ name: String) throws -> Machine { try Machine(name, self) }
}

/// A data directory with one profile.
final class Machine: Sendable {
    let name: String
    let world: World
    private let internet: Internet
    private let opened = Lock<EmbeddedCore?>(nil)

    init(_ name: String, _ internet: Internet) throws {
        self.name = name
        self.internet = internet
        world = try World([name], relay: internet.files)
        try world.directory.addMessagingServers(
            [internet.server], to: world.directory.profile(named: name))
    }

    /// Opens the profile with short delays.
    @discardableResult
    func open() async throws -> EmbeddedCore {
        let core = try await world.open(name, over: Self.agent)
        // Releases the previous core outside the mutex, as its end takes other locks.
        let last = opened.withLock { opened in
            defer { opened = core }
            return opened
        }
        withExtendedLifetime(last) {}
        return core
    }

    /// The real agent over real connections, with short delays.
    static let agent: ProfileAgent.Making = { path, key, servers, network in
        var network = network
        network.retry = RetryPolicy(first: .milliseconds(20), maxDelay: .milliseconds(100), tries: .max)
        let connections = QueueConnections(network)
        var times = AgentTimes()
        times.network = RetryPolicy(first: .milliseconds(20), maxDelay: .milliseconds(100), tries: .max)
        times.refusal = times.network
        times.goneAfter = .milliseconds(100)
        var settings = AgentSettings(servers: servers, times: times)
        settings.peer = ProfileAgent.peer
        let agent = try Agent(path: path, key: key, servers: connections, settings: settings)
        return ProfileAgent(agent, over: connections)
    }

    var core: EmbeddedCore {
        get throws { try #require(opened.withLock { $0 }) }
    }

    func reopen() async throws {
        try await core.shutDown()
        try await open()
    }
}

extension Internet {
    /// Returns two machines whose profiles are connected.
    func pair() async throws -> (alice: Machine, bob: Machine) {
        let (alice, bob) = (try machine("alice"), try machine("bob"))
        let (inviting, joining) = (try await alice.open(), try await bob.open())
        let invitation = try await inviting.invite()
        let joined = try await joining.accept(invitation.link)
        _ = try await wait(for: "alice's contact") { try await inviting.contact(of: invitation.connection) }
        _ = try await wait(for: "bob's contact") { try await joining.contact(of: joined) }
        return (alice, bob)
    }
}

extension World {
    /// Opens a profile with the given agent and short delays.
    func open(_ name: String, over agent: @escaping ProfileAgent.Making) async throws -> EmbeddedCore {
        try await EmbeddedCore.open(
            DataDirectory(folder.path("data"), clock: clock, bootClock: clock), profile: name,
            mountpoint: nil,
            relays: [MemoryRelay.relay], transfers: relay,
            retry: RetryPolicy(first: .milliseconds(5), maxDelay: .milliseconds(20), tries: .max),
            agent: agent)
    }
}
