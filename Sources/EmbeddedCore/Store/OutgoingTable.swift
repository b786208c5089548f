import Agent
import ChatCore
import ChatProtocol
import Store

/// Something for the agent to send.
struct OutgoingMessage {
    var connection: ConnectionID
    var body: [UInt8]
    var notifies: Bool
    /// Of a message of its own, to know it again when it could not be sent.
    var id: SharedMessageID?
    /// What suffers when it cannot be sent.
    var item: ItemID?
    /// By which `GroupDeliveryTable` knows it, of what goes to several members of a group.
    var delivery: Int64?
    /// A file can be found when a server has it: the time of the item begins.
    var announces = false
    /// The last one: the connection is deleted afterwards.
    var ends = false

    /// - Throws: `ChatProtocolError.tooLong`.
    init(
        _ message: ChatMessage, to connection: ConnectionID, of item: ItemID? = nil, ends: Bool = false
    ) throws {
        self.item = item
        self.connection = connection
        body = try ChatBody.write(message, capacity: .postQuantumMessage, compression: Zstandard.installed)
        notifies = message.event.notifies
        if case .message = message.event { id = message.id }
        self.ends = ends
    }
}

/// What waits for the agent of a profile, in the order in which it was committed.
struct OutgoingTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    func add(_ message: OutgoingMessage) throws {
        try connection.execute(
            """
            INSERT INTO outgoing (profile, connection, body, notifies, shared_id, item, ends, delivery,
                announces) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, profile, message.connection.number, message.body, message.notifies, message.id?.bytes,
            message.item?.rawValue, message.ends, message.delivery,
            message.announces)
    }

    struct Waiting: Sendable {
        /// Never used again.
        var number: Int64
        var connection: ConnectionID
        var body: [UInt8]
        var notifies: Bool
        var id: SharedMessageID?
        var item: ItemID?
        var ends: Bool
        var delivery: Int64?
        var announces: Bool
    }

    func first() throws -> Waiting? {
        try connection.first(
            """
            SELECT id, connection, body, notifies, shared_id, item, ends, delivery, announces
            FROM outgoing WHERE profile = ? ORDER BY id LIMIT 1
            """, profile
        ) { row in
            Waiting(
                number: row.integer("id"), connection: ConnectionID(row.integer("connection")),
                body: row.bytes("body"), notifies: row.bool("notifies"),
                id: row.bytesOrNil("shared_id").flatMap { SharedMessageID(bytes: $0) },
                item: row.integerOrNil("item").map { ItemID($0) }, ends: row.bool("ends"),
                delivery: row.integerOrNil("delivery"), announces: row.bool("announces"))
        }
    }

    /// How many messages wait, by connections.
    func counts() throws -> [ConnectionID: Int] {
        let rows = try connection.query(
            "SELECT connection, count(*) AS count FROM outgoing WHERE profile = ? GROUP BY connection",
            profile
        ) { (ConnectionID($0.integer("connection")), Int($0.integer("count"))) }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    func remove(_ number: Int64) throws {
        try connection.execute("DELETE FROM outgoing WHERE id = ?", number)
    }
}
