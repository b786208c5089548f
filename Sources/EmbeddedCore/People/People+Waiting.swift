import Agent
import Base
import ChatCore
import SMP

/// What a profile waits for on the network: servers that cannot be reached, messages that no server has taken, and
/// people who have not answered, or wait for an answer. A value.
public struct NetworkWaiting: Sendable, Hashable {
    /// A messaging server that cannot be reached.
    public struct Outage: Sendable, Hashable {
        /// Host and port.
        public var server: String
        public var since: Timestamp
        public var problem: String
    }

    public var outages: [Outage] = []
    /// Messaging servers inside this machine's own network that others named, and that wait for an approval.
    public var refused: [ServerAddress] = []
    /// By chats, without those of which nothing waits.
    public var messages: [ChatReference: Int] = [:]
    /// Links for one person that nobody has used yet, or whose contact is not complete.
    public var invitations = 0
    /// Strangers and group invitations that wait for an answer.
    public var requests = 0
}

extension EmbeddedCore {
    /// What waits at this moment. Opens no connection.
    /// - Throws: as every command.
    public func networkWaiting() async throws(ChatError) -> NetworkWaiting { try await people.waiting() }
}

extension People {
    func waiting() async throws(ChatError) -> NetworkWaiting {
        let agent = opened
        var waiting = NetworkWaiting()
        waiting.outages = (agent?.outages() ?? []).map {
            NetworkWaiting.Outage(
                server: "\($0.server.hosts.first ?? "?"):\($0.server.port)", since: $0.since,
                problem: $0.problem)
        }
        var counts: [ConnectionID: Int] = [:]
        var inviting: [ConnectionID] = []
        if let agent {
            do throws(AgentError) {
                counts = try await agent.waiting()
                inviting = try await agent.agent.connections(in: .inviting)
            } catch {
                throw ChatError(connecting: error)
            }
        }
        let (handed, links) = (counts, inviting)
        let found = try await blocking.run { [store] in
            try store.read { tables in
                // What was not given to the agent yet is before it.
                let counts = try tables.outgoing.counts().merging(handed, uniquingKeysWith: +)
                var messages: [ChatReference: Int] = [:]
                for (connection, count) in counts {
                    guard let id = try tables.people.person(connection)?.chat,
                        let chat = try tables.chats.chat(id, of: store.profile.id)?.reference
                    else { continue }
                    messages[chat, default: 0] += count
                }
                let invitations = try links.count { connection in
                    guard let person = try tables.people.person(connection) else { return false }
                    return person.chat == nil && !person.isEnded
                }
                return (
                    messages, invitations, try tables.requests.unanswered().count,
                    try tables.network.refusedServers.all()
                )
            }
        }
        (waiting.messages, waiting.invitations, waiting.requests, waiting.refused) = found
        return waiting
    }
}
