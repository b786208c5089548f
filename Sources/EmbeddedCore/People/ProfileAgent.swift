import Agent
import Base
import Cryptography
import Ratchet
import SMP
import SMPClient

/// A profile's agent with functions to start and stop it.
struct ProfileAgent: Sendable {
    let agent: any ConnectionAgent
    let start: @Sendable (_ past: Past) async throws(AgentError) -> Void
    /// Waits for messages to be sent, at most until the given time.
    let finishSending: @Sendable (ContinuousClock.Instant) async -> Void
    /// Waits for messages from servers, at most until the given time.
    let receiveWaiting: @Sendable (ContinuousClock.Instant) async -> Void
    let stop: @Sendable () async -> Void
    /// Closes all connections until `resume`.
    let suspend: @Sendable () -> Void
    let resume: @Sendable () -> Void
    /// Retries unreachable servers at once.
    var tryAgain: @Sendable () -> Void = {}
    /// Returns the number of messages that no server has accepted yet, by connection.
    var waiting: @Sendable () async throws(AgentError) -> [ConnectionID: Int] = {
        () async throws(AgentError) in [:]
    }
    var outages: @Sendable () -> [ServerOutage] = { [] }
    /// How many messaging servers are connected.
    var connections: @Sendable () -> Int = { 0 }

    /// State that the application keeps for the agent between runs.
    struct Past: Sendable {
        /// Number of the last processed event.
        var lastEvent: Int64
        /// Whether its database was restored from an archive and is unused since.
        var isRestored: Bool
    }

    /// Creates an agent, which contacts no server before `start`. Blocks.
    typealias Making =
        @Sendable (
            _ path: String, _ key: SecretBytes?, _ servers: [ServerAddress], _ network: ConnectionSettings
        ) throws -> ProfileAgent

    /// Creates an agent that connects over TLS.
    static let overNetwork: Making = { path, key, servers, network in
        let connections = QueueConnections(network)
        let agent = try Agent(
            path: path, key: key, servers: connections,
            settings: settings(servers), kem: GcryptKEM.installed)
        connections.followNetwork { [weak agent] in agent?.networkChanged() }
        return ProfileAgent(agent, over: connections)
    }
}

extension ProfileAgent {
    private static func settings(_ servers: [ServerAddress]) -> AgentSettings {
        var settings = AgentSettings(servers: servers, postQuantum: true)
        settings.peer = peer
        return settings
    }

    /// Returns the person accountable for a connection's server.
    static let peer: AgentSettings.Peer = { id, reason in
        reason.flatMap { ConnectionReason(text: $0)?.peer(of: id) } ?? id.map { "connection \($0.number)" }
    }

    init(_ agent: Agent, over connections: QueueConnections) {
        self.agent = agent
        start = { (past: Past) async throws(AgentError) in
            try await agent.start(after: past.lastEvent, isRestored: past.isRestored)
        }
        finishSending = { _ = await agent.finishSending(until: $0) }
        receiveWaiting = { await agent.receiveWaiting(until: $0) }
        suspend = { connections.suspend() }
        resume = {
            connections.resume()
            agent.networkChanged()
        }
        tryAgain = {
            connections.networkChanged()
            agent.networkChanged()
        }
        waiting = { () async throws(AgentError) in try await agent.waitingMessageCounts() }
        outages = { connections.outages }
        self.connections = { connections.establishedCount }
        stop = {
            await agent.stop()
            await connections.close()
        }
    }
}
