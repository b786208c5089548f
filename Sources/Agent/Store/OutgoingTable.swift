import Base
import Store

/// A stored outgoing message.
struct StoredOutgoing: Sendable {
    var number: Int64
    var kind: Outgoing.Kind
    var content: [UInt8]
    var notifies: Bool
    var isUrgent: Bool
    var isBody: Bool
    var prepared: PreparedEnvelope?
    /// Whether it was sent with replaced keys and its delivery is unknown. The peer's `E` message resolves it
    /// (`settle`).
    var isUncertain: Bool
    /// nil until the connection is established.
    var waitsSince: ElapsedTime?
    var fullSince: ElapsedTime?

    /// Whether it carries or proves new keys; only such messages are urgent.
    var isForNewKeys: Bool { kind == .keys || kind == .message && isUrgent }
}

/// Outgoing messages and sent messages without a receipt, within one transaction.
struct OutgoingTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Retention of idempotency keys.
    static let identifierAge = Duration.seconds(30 * 86_400)
    /// Retention of sent messages without a receipt; longer than servers keep messages.
    static let receiptAge = Duration.seconds(30 * 86_400)

    /// Appends a message and returns its number.
    /// - Parameter since: start of its waiting time; nil until the connection is established.
    @discardableResult
    func append(
        _ outgoing: Outgoing, isBody: Bool, to id: ConnectionID, since: ElapsedTime?
    ) throws -> Int64 {
        try connection.execute(
            """
            INSERT INTO outgoing (connection, kind, content, notifies, is_urgent, is_body, waits_since)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """, id.number, outgoing.kind, outgoing.content, outgoing.notifies, outgoing.isUrgent, isBody,
            since)
        return connection.lastInsertedID
    }

    /// Whether an equal agent message waits unencrypted.
    func holds(_ outgoing: Outgoing, to id: ConnectionID) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM outgoing WHERE connection = ? AND is_body = 0 AND kind = ? AND is_urgent = ?
                AND content = ? AND message_number IS NULL
            """, id.number, outgoing.kind, outgoing.isUrgent, outgoing.content)
    }

    /// Starts the waiting time of earlier messages when the connection is established.
    func startWaitingTime(_ id: ConnectionID, now: ElapsedTime) throws {
        try connection.execute(
            "UPDATE outgoing SET waits_since = ? WHERE connection = ? AND waits_since IS NULL", now, id.number
        )
    }

    func number(ofIdentifier identifier: [UInt8], in id: ConnectionID) throws -> Int64? {
        try connection.first(
            "SELECT number FROM identifier WHERE connection = ? AND identifier = ?", id.number, identifier
        ) { $0.integer("number") }
    }

    func remember(identifier: [UInt8], number: Int64, in id: ConnectionID, now: ElapsedTime) throws {
        try connection.execute(
            "DELETE FROM identifier WHERE time < ?",
            now.advanced(by: .zero - Self.identifierAge))
        try connection.execute(
            "INSERT INTO identifier (connection, identifier, number, time) VALUES (?, ?, ?, ?)", id.number,
            identifier, number, now)
    }

    /// Returns the next message to send. Encrypted ones come first, in order.
    func head(of id: ConnectionID) throws -> StoredOutgoing? {
        try connection.first(
            "SELECT * FROM outgoing WHERE connection = ? ORDER BY is_urgent DESC, number LIMIT 1", id.number,
            row: Self.stored)
    }

    /// Number of waiting application messages by connection.
    func bodyCounts() throws -> [ConnectionID: Int] {
        let rows = try connection.query(
            "SELECT connection, count(*) AS count FROM outgoing WHERE is_body = 1 GROUP BY connection"
        ) { (ConnectionID($0.integer("connection")), Int($0.integer("count"))) }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// Returns messages waiting since before `time`, at most 100.
    func waiting(since time: ElapsedTime, of id: ConnectionID) throws -> [StoredOutgoing] {
        try connection.query(
            """
            SELECT * FROM outgoing WHERE connection = ? AND waits_since < ?
            ORDER BY is_urgent DESC, number LIMIT 100
            """, id.number, time, row: Self.stored)
    }

    func item(_ number: Int64) throws -> StoredOutgoing? {
        try connection.first("SELECT * FROM outgoing WHERE number = ?", number, row: Self.stored)
    }

    private static func stored(_ row: borrowing Row) throws -> StoredOutgoing {
        let prepared = row.bytesOrNil("envelope").map { envelope in
            PreparedEnvelope(
                number: row.integer("message_number"), hash: row.bytes("hash"), envelope: envelope,
                nonce: row.bytes("nonce"))
        }
        return StoredOutgoing(
            number: row.integer("number"), kind: try row.value("kind"), content: row.bytes("content"),
            notifies: row.bool("notifies"), isUrgent: row.bool("is_urgent"), isBody: row.bool("is_body"),
            prepared: prepared, isUncertain: prepared == nil && row.integerOrNil("message_number") != nil,
            waitsSince: row.elapsedTimeOrNil("waits_since"),
            fullSince: row.elapsedTimeOrNil("full_since"))
    }

    /// Stores the encrypted form that each retry sends.
    func setPrepared(_ number: Int64, _ prepared: PreparedEnvelope, now: ElapsedTime) throws {
        try connection.execute(
            """
            UPDATE outgoing SET message_number = ?, hash = ?, envelope = ?, nonce = ?,
                waits_since = coalesce(waits_since, ?) WHERE number = ?
            """, prepared.number, prepared.hash, prepared.envelope, prepared.nonce, now, number)
    }

    /// Records that the queue is full. Returns true if that is new.
    func setFull(_ number: Int64, now: ElapsedTime) throws -> Bool {
        try connection.execute(
            "UPDATE outgoing SET full_since = ? WHERE number = ? AND full_since IS NULL", now, number) > 0
    }

    /// Deletes a sent message. Keeps its hash if a receipt may come.
    func remove(_ outgoing: StoredOutgoing, sentTo id: ConnectionID, now: ElapsedTime) throws {
        try connection.execute(
            """
            INSERT OR REPLACE INTO unconfirmed (connection, message_number, number, hash, time)
            SELECT connection, message_number, number, hash, ? FROM outgoing
            WHERE number = ? AND is_body = 1 AND message_number IS NOT NULL
            """, now, outgoing.number)
        try connection.execute("DELETE FROM outgoing WHERE number = ?", outgoing.number)
        try connection.execute(
            "DELETE FROM unconfirmed WHERE time < ?", now.advanced(by: .zero - Self.receiptAge))
    }

    /// Resolves a receipt to its message's number.
    func confirm(_ receipt: MessageContent.Receipt, in id: ConnectionID) throws -> Int64? {
        let number = try connection.first(
            "SELECT number FROM unconfirmed WHERE connection = ? AND message_number = ? AND hash = ?",
            id.number, receipt.number, receipt.hash
        ) { $0.integer("number") }
        if number != nil {
            try connection.execute(
                "DELETE FROM unconfirmed WHERE connection = ? AND message_number = ?", id.number,
                receipt.number)
        }
        return number
    }

    /// Returns the message of a receipt that came before the server's reply.
    func unanswered(_ receipt: MessageContent.Receipt, in id: ConnectionID) throws -> StoredOutgoing? {
        try connection.first(
            "SELECT * FROM outgoing WHERE connection = ? AND message_number = ? AND hash = ?", id.number,
            receipt.number, receipt.hash, row: Self.stored)
    }

    /// Resolves uncertain messages: the peer received all up to `number`, and returns those. Later ones are
    /// encrypted again.
    func settle(until number: Int64, in id: ConnectionID) throws -> [StoredOutgoing] {
        try connection.execute(
            """
            UPDATE outgoing SET message_number = NULL, hash = NULL
            WHERE connection = ? AND kind = ? AND envelope IS NULL AND message_number > ?
            """, id.number, Outgoing.Kind.message, number)
        return try connection.query(
            """
            SELECT * FROM outgoing WHERE connection = ? AND kind = ? AND envelope IS NULL
                AND message_number IS NOT NULL ORDER BY number
            """, id.number, Outgoing.Kind.message, row: Self.stored)
    }

    /// Returns sent messages that can no longer get a receipt.
    func lost(after number: Int64, in id: ConnectionID) throws -> [Int64] {
        let lost = try connection.query(
            "SELECT number FROM unconfirmed WHERE connection = ? AND message_number > ? ORDER BY number",
            id.number, number
        ) { $0.integer("number") }
        try connection.execute(
            "DELETE FROM unconfirmed WHERE connection = ? AND message_number > ?", id.number, number)
        return lost
    }

    func remove(_ number: Int64) throws {
        try connection.execute("DELETE FROM outgoing WHERE number = ?", number)
    }

    /// Deletes unsent requests and confirmations.
    func removeIntroductions(of id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM outgoing WHERE connection = ? AND kind IN (?, ?)", id.number,
            Outgoing.Kind.request, Outgoing.Kind.confirmation)
    }

    /// Whether new keys or their proof wait to be sent.
    func hasKeyMessages(of id: ConnectionID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM outgoing WHERE connection = ? AND (kind = ? OR kind = ? AND is_urgent = 1)",
            id.number,
            Outgoing.Kind.keys, Outgoing.Kind.message)
    }

    func removeKeys(of id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM outgoing WHERE connection = ? AND kind = ?", id.number, Outgoing.Kind.keys)
    }

    /// Deletes all messages. Returns the numbers of those from the application.
    func removeAll(of id: ConnectionID) throws -> [Int64] {
        let bodies = try connection.query(
            "SELECT number FROM outgoing WHERE connection = ? AND is_body = 1 ORDER BY number", id.number
        ) { $0.integer("number") }
        try connection.execute("DELETE FROM outgoing WHERE connection = ?", id.number)
        return bodies
    }

    /// Discards all encrypted forms. Messages already sent stay uncertain until `settle`. Deletes proofs of
    /// discarded keys.
    func encryptAgain(_ id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM outgoing WHERE connection = ? AND kind = ? AND is_urgent = 1", id.number,
            Outgoing.Kind.message)
        try connection.execute(
            """
            UPDATE outgoing SET envelope = NULL, nonce = NULL WHERE connection = ? AND kind = ?
            """, id.number, Outgoing.Kind.message)
    }
}
