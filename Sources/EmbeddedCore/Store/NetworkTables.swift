import Agent
import Base
import ChatProtocol
import Cryptography
import Store

/// A profile's network tables within one transaction.
struct NetworkTables {
    let people: PeopleTable
    let outgoing: OutgoingTable
    let requests: RequestTable
    let groups: GroupTable
    let memberConnections: MemberConnectionTable
    let retention: RetentionTable
    let inlineTransfers: InlineTransferTable
    let refusedServers: RefusedServerTable
    let budgets: ReceptionBudgetTable

    init(_ connection: Connection, of profile: Int64) {
        people = PeopleTable(connection: connection, profile: profile)
        outgoing = OutgoingTable(connection: connection, profile: profile)
        requests = RequestTable(connection: connection, profile: profile)
        groups = GroupTable(connection: connection, profile: profile)
        memberConnections = MemberConnectionTable(connection: connection, profile: profile)
        retention = RetentionTable(connection: connection, profile: profile)
        inlineTransfers = InlineTransferTable(connection: connection, profile: profile)
        refusedServers = RefusedServerTable(connection: connection, profile: profile)
        budgets = ReceptionBudgetTable(connection: connection)
    }

    /// Whether the chat is on the network, even a group without connections.
    func has(_ chat: Int64) throws -> Bool {
        try people.connection(ofChat: chat) != nil || groups.contains(chat)
    }

    /// Whether decisions wait to be passed to the agent.
    func hasPendingDecisions() throws -> Bool {
        try outgoing.first() != nil || !requests.all(.rejected).isEmpty
    }

    /// Returns the connections that carry a chat's messages: the contact's, or those of a group's host and
    /// members. Empty for a local chat.
    func connections(ofChat chat: Int64, at time: ElapsedTime) throws -> [ConnectionID] {
        let first = try people.connection(ofChat: chat)
        return try (first.map { [$0] } ?? []) + memberConnections.carrying(in: chat, at: time).map(\.id)
    }

    /// Sends a farewell to a contact or group and ends its connections. No effect for a local chat.
    func part(fromContactOf chat: Int64, at time: ElapsedTime) throws {
        let farewell = ChatMessage(
            try groups.contains(chat) ? .group(.left) : .contactDeleted,
            id: SharedMessageID(from: SystemRandomSource()))
        for id in try connections(ofChat: chat, at: time) {
            try outgoing.add(OutgoingMessage(farewell, to: id, ends: true))
            try people.end(id)
            try memberConnections.forget(id)
        }
        try memberConnections.endAll(in: chat)
    }

    /// Sends the profile's new name to its contacts.
    func introduce(as name: String) throws {
        for id in try people.open() { try retention.introduce(over: id, as: name) }
        try requests.noteRenamed()
    }
}
