import Agent
import ChatCore
import ChatProtocol
import Store

/// A message for the agent to send.
struct OutgoingMessage {
    var connection: ConnectionID
    var body: [UInt8]
    var notifies: Bool
    /// Shared id of a new message, to report its failure.
    var id: SharedMessageID?
    /// Item that fails if the message does.
    var item: ItemID?
    /// Id in `GroupDeliveryTable` for a message to several group members.
    var delivery: Int64?
    /// Whether it announces a file; sending it starts the item's time.
    var announces = false
    /// Whether to delete the connection afterwards.
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

/// Messages for the agent in order of commits.
struct OutgoingTable {
    let connection: Connection
    let profile: Int64

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
        /// Never reused.
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

    /// Returns the number of waiting messages by connection.
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
