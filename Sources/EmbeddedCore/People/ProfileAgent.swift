import Agent
import Base
import Cryptography
import SMP
import SMPClient

/// The agent of a profile, with what begins and ends it.
struct ProfileAgent: Sendable {
    let agent: any ConnectionAgent
    let start: @Sendable () async throws(AgentError) -> Void
    let stop: @Sendable () async -> Void

    /// Makes one; nothing is asked of any server before `start`. Blocks.
    typealias Making =
        @Sendable (
            _ path: String, _ key: SecretBytes?, _ servers: [ServerAddress], _ network: ConnectionSettings
        ) throws -> ProfileAgent

    /// Over TLS, to real servers.
    static let overNetwork: Making = { path, key, servers, network in
        let connections = QueueConnections(network)
        let agent = try Agent(
            path: path, key: key, servers: connections, settings: AgentSettings(servers: servers))
        return ProfileAgent(
            agent: agent, start: { () async throws(AgentError) in try await agent.start() },
            stop: {
                await agent.stop()
                await connections.close()
            })
    }
}
