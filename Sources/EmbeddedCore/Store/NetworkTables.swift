import Agent
import Base
import ChatProtocol
import Cryptography
import Store

/// What one profile has with people on the network, within one transaction.
struct NetworkTables {
    let people: PeopleTable
    let outgoing: OutgoingTable
    let requests: RequestTable
    let groups: GroupTable
    let memberConnections: MemberConnectionTable
    let retention: RetentionTable
    let inlineTransfers: InlineTransferTable
    let refusedServers: RefusedServerTable
    let unasked: UnaskedTable

    init(_ connection: Connection, of profile: Int64) {
        people = PeopleTable(connection, of: profile)
        outgoing = OutgoingTable(connection, of: profile)
        requests = RequestTable(connection, of: profile)
        groups = GroupTable(connection, of: profile)
        memberConnections = MemberConnectionTable(connection, of: profile)
        retention = RetentionTable(connection, of: profile)
        inlineTransfers = InlineTransferTable(connection, of: profile)
        refusedServers = RefusedServerTable(connection, of: profile)
        unasked = UnaskedTable(connection)
    }

    /// Whether a chat is with somebody on the network, also where nobody of a group can be reached.
    func has(_ chat: Int64) throws -> Bool {
        try people.connection(ofChat: chat) != nil || groups.contains(chat)
    }

    /// Whether something was decided that the agent is to send: what it has already is left out.
    func isAnythingWaiting() throws -> Bool {
        try outgoing.first() != nil || !requests.all(.rejected).isEmpty
    }

    /// Over which what is said in a chat goes: to the contact, or to the host of a group and to the members to which
    /// there are connections. Empty for a chat that is with nobody on the network.
    func connections(ofChat chat: Int64, at time: ElapsedTime) throws -> [ConnectionID] {
        let first = try people.connection(ofChat: chat)
        return try (first.map { [$0] } ?? []) + memberConnections.carrying(in: chat, at: time).map(\.id)
    }

    /// Has the agent say farewell to the contact or group of a chat that is left, and delete the connection; nothing for a
    /// chat that is with nobody on the network.
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

    /// Has the agent tell the contacts how the profile is called now.
    func introduce(as name: String) throws {
        for id in try people.open() { try retention.introduce(over: id, as: name) }
        try requests.noteRenamed()
    }
}
