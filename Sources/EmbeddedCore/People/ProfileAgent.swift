import Agent
import Base
import Cryptography
import Ratchet
import SMP
import SMPClient

/// The agent of a profile, with what begins and ends it.
struct ProfileAgent: Sendable {
    let agent: any ConnectionAgent
    let start: @Sendable (_ past: Past) async throws(AgentError) -> Void
    /// Waits for what is on its way, at most until then.
    let finishSending: @Sendable (ContinuousClock.Instant) async -> Void
    /// Waits for what servers have, at most until then.
    let receiveWaiting: @Sendable (ContinuousClock.Instant) async -> Void
    let stop: @Sendable () async -> Void
    /// Closes all connections until `resume`.
    let suspend: @Sendable () -> Void
    let resume: @Sendable () -> Void
    /// What could not be reached before may be now.
    var tryAgain: @Sendable () -> Void = {}
    /// How many messages wait to be taken by a server, by connections.
    var waiting: @Sendable () async throws(AgentError) -> [ConnectionID: Int] = {
        () async throws(AgentError) in [:]
    }
    var outages: @Sendable () -> [ServerOutage] = { [] }

    /// What an agent cannot know of the time before its start.
    struct Past: Sendable {
        /// The last event that was taken in.
        var lastEvent: Int64
        /// Whether its database came out of an archive and was not used since.
        var isRestored: Bool
    }

    /// Makes one; nothing is asked of any server before `start`. Blocks.
    typealias Making =
        @Sendable (
            _ path: String, _ key: SecretBytes?, _ servers: [ServerAddress], _ network: ConnectionSettings
        ) throws -> ProfileAgent

    /// Over TLS, to real servers.
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

    /// Whom connections of a profile are counted for.
    static let peer: AgentSettings.Peer = { id, reason in
        reason.flatMap { ConnectionReason(text: $0) }?.peer(of: id) ?? "connection \(id.number)"
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
        stop = {
            await agent.stop()
            await connections.close()
        }
    }
}
