import Agent
import Base
import ChatProtocol
import Network
import SMP
import SMPClient
import TestSupport

/// Hosts a group as the official program does: introduces members to each other, and forwards their messages until a
/// pair reports its own connection.
public final class GroupHost: Sendable {
    private struct State {
        var invited: [ConnectionID: MemberInformation] = [:]
        var members: [ConnectionID: MemberInformation] = [:]
        var heard: [(over: ConnectionID, message: ChatMessage)] = []
        /// The pairs with a reported connection.
        var connected: [MemberID: Set<MemberID>] = [:]
        var listening: Task<Void, Never>?
        var introduces = true
        var passesOn = true
    }

    public let agent: Agent
    public let reference = MemberReference(id: MemberID(bytes: Array("host".utf8))!, role: .owner)
    private let server: ServerAddress
    private let connections: QueueConnections
    private let state = Lock(State())
    private let folder: TemporaryFolder

    /// - Parameter server: The server of its queues.
    public init(at server: ServerAddress) async throws {
        folder = try TemporaryFolder()
        self.server = server
        var network = ConnectionSettings(policy: OutboundPolicy(chosen: server.places))
        network.retry = RetryPolicy(first: .milliseconds(20), maxDelay: .milliseconds(100), tries: .max)
        connections = QueueConnections(network)
        var times = AgentTimes()
        times.network = RetryPolicy(first: .milliseconds(20), maxDelay: .milliseconds(100), tries: .max)
        let agent = try Agent(
            path: folder.path("agent.sqlite"), key: nil, servers: connections,
            settings: AgentSettings(servers: [server], times: times))
        self.agent = agent
        try await agent.start()
        let listening = Task { [weak self] in
            for await event in agent.events {
                await self?.take(event)
                try? await agent.acknowledge(event: event.number, withReceipt: true)
            }
        }
        state.withLock { $0.listening = listening }
    }

    public func stop() async {
        await agent.stop()
        await connections.close()
    }

    /// Stops introducing newcomers and members to each other.
    public func stopIntroducing() { state.withLock { $0.introduces = false } }

    /// Stops forwarding to members without a connection of their own.
    public func stopPassingOn() { state.withLock { $0.passesOn = false } }

    /// Whether each pair has reported its connection.
    public var isMesh: Bool {
        state.withLock { state in
            let ids = state.members.values.map(\.reference.id)
            return ids.allSatisfy { one in
                ids.allSatisfy { $0 == one || state.connected[one]?.contains($0) == true }
            }
        }
    }

    /// The messages of a member in order.
    public func heard(from name: String) -> [MessageEvent] {
        state.withLock { state in
            state.heard.filter { state.members[$0.over]?.profile.displayName == name }.map(\.message.event)
        }
    }

    // MARK: - Members

    /// Becomes a contact through a one-time link, and invites into the group. The invited person is a member after
    /// accepting, and `introduce` tells the others.
    public func invite(_ name: String, over link: String, as role: MemberRole = .member) async throws {
        guard let id = MemberID(bytes: Array(name.utf8)) else { throw WaitedInVain("\(name) is no name") }
        let member = MemberInformation(
            MemberReference(id: id, role: role), profile: ContactProfile(displayName: name))
        let group = try await agent.invite(
            Invitation(
                kind: .oneTime, server: server, information: information(.nothingToSay), linkData: nil))
        let own = try information(.information(ContactProfile(displayName: "hans")))
        let contact = try await agent.join(link: link, information: own, confirmation: own)
        state.withLock { $0.invited[group.connection] = member }
        let invitation = GroupInvitation(
            host: reference, invited: member.reference, link: group.links.full.link,
            profile: GroupProfile(displayName: "club"))
        try await say(.group(.invitation(invitation)), over: contact)
    }

    /// Introduces a newcomer and the members to each other.
    public func introduce(_ name: String) async throws {
        let (found, others) = state.withLock { state in
            let found = state.invited.first { $0.value.profile.displayName == name }
            let others = state.introduces ? state.members : [:]
            if let (connection, member) = found {
                state.members[connection] = member
                state.invited[connection] = nil
            }
            return (found, others)
        }
        guard let (newcomer, member) = found else { throw WaitedInVain("\(name) was not invited") }
        for (connection, other) in others {
            try await say(.group(.newMember(member)), over: connection)
            try await say(.group(.introduction(other)), over: newcomer)
        }
    }

    public func id(of name: String) -> MemberID? {
        state.withLock { $0.members.values.first { $0.profile.displayName == name }?.reference.id }
    }

    public func say(_ event: MessageEvent, to name: String) async throws {
        let found = state.withLock { $0.members.first { $0.value.profile.displayName == name }?.key }
        guard let found else { throw WaitedInVain("\(name) is no member") }
        try await say(event, over: found)
    }

    /// Sends a member arbitrary content, or a message with the caller's id.
    public func send(_ body: [UInt8], to name: String) async throws {
        let found = state.withLock { $0.members.first { $0.value.profile.displayName == name }?.key }
        guard let found else { throw WaitedInVain("\(name) is no member") }
        _ = try await agent.send(body, to: found, notifies: false, identifier: nil)
    }

    public func sayToAll(_ event: MessageEvent) async throws {
        for connection in state.withLock({ Array($0.members.keys) }) {
            try await say(event, over: connection)
        }
    }

    /// Stops all traffic from and to a member.
    public func forget(_ name: String) {
        state.withLock { state in
            for key in state.members.keys where state.members[key]?.profile.displayName == name {
                state.members[key] = nil
            }
        }
    }

    private func say(_ event: MessageEvent, over id: ConnectionID) async throws {
        let message = ChatMessage(event, id: SharedMessageID(from: SystemRandomSource()))
        let body = try ChatBody.write(message, capacity: .message, compression: nil)
        _ = try await agent.send(body, to: id, notifies: false, identifier: nil)
    }

    private func information(_ event: MessageEvent) throws -> [UInt8] {
        try ChatBody.write(ChatMessage(event, id: nil), capacity: .information, compression: nil)
    }

    // MARK: - Messages of members

    private func take(_ event: AgentEvent) async {
        guard case .received(let received) = event.content else { return }
        for element in (try? ChatBody.read(received.body, compression: Zstandard.installed)) ?? [] {
            guard case .message(let message) = element else { continue }
            state.withLock { $0.heard.append((event.connection, message)) }
            for (connection, event) in consequences(
                of: message, over: event.connection, at: received.received)
            {
                try? await say(event, over: connection)
            }
        }
    }

    private func consequences(
        of message: ChatMessage, over id: ConnectionID, at time: Timestamp
    ) -> [(ConnectionID, MessageEvent)] {
        state.withLock { state in
            guard let author = state.members[id] else { return [] }
            let own = author.reference.id
            switch message.event {
            case .group(.memberInvitation(let member, let link)):
                let target = state.members.first { $0.value.reference.id == member }?.key
                return target.map { [($0, .group(.newcomer(author, link: link)))] } ?? []
            case .group(.memberConnected(let member)):
                state.connected[own, default: []].insert(member)
                state.connected[member, default: []].insert(own)
                return []
            case .message, .description, .update, .deletion, .information, .group(.left):
                guard state.passesOn else { return [] }
                let forwarded = ForwardedMessage(
                    author: own, authorName: author.profile.displayName, message: message, time: time)
                return state.members.filter {
                    $0.key != id && state.connected[own]?.contains($0.value.reference.id) != true
                }.map { ($0.key, .group(.forwarded(forwarded))) }
            default: return []
            }
        }
    }
}
