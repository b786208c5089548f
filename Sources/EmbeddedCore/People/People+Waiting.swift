import Agent
import Base
import ChatCore
import SMP

/// A profile's pending network activity: unreachable servers, unsent messages, and unanswered invitations and
/// requests.
public struct NetworkWaiting: Sendable, Hashable {
    /// An unreachable messaging server.
    public struct Outage: Sendable, Hashable {
        /// Host and port.
        public var server: String
        public var since: Timestamp
        public var problem: String
    }

    public var outages: [Outage] = []
    /// The number of connected messaging servers.
    public var connections = 0
    /// Messaging servers inside this machine's own network, named by other people, that wait for approval.
    public var refused: [ServerAddress] = []
    /// Number of waiting messages by chat. Chats without any are omitted.
    public var messages: [ChatReference: Int] = [:]
    /// One-time links that are unused or whose contact is incomplete.
    public var invitations = 0
    /// Contact requests and group invitations that wait for an answer.
    public var requests = 0
}

extension EmbeddedCore {
    /// Returns the current pending activity. Opens no connection.
    /// - Throws: the errors of every command.
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
        waiting.connections = agent?.connections() ?? 0
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
        let found = try await store.reading { [store] tables in
            // Messages not yet passed to the agent are still here.
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
        (waiting.messages, waiting.invitations, waiting.requests, waiting.refused) = found
        return waiting
    }
}
