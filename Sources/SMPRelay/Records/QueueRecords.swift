import Base
import Cryptography
import SMP
import Store

/// The queues of the relay in SQLite, within one transaction of its service.
struct QueueRecords {
    let connection: Connection

    static let migrations = [
        Migration(
            "queues and messages 0.1",
            """
            CREATE TABLE queue (
                id INTEGER PRIMARY KEY,
                recipient_id BLOB NOT NULL UNIQUE,
                sender_id BLOB NOT NULL UNIQUE,
                recipient_key BLOB NOT NULL,
                sender_key BLOB,
                mode TEXT,
                box_secret BLOB NOT NULL,
                suspended INTEGER NOT NULL DEFAULT 0,
                full INTEGER NOT NULL DEFAULT 0,
                used INTEGER NOT NULL DEFAULT 0,
                unused INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE TABLE link (
                queue INTEGER PRIMARY KEY REFERENCES queue (id) ON DELETE CASCADE,
                link_id BLOB NOT NULL UNIQUE,
                fixed BLOB NOT NULL,
                user BLOB NOT NULL
            ) STRICT;
            CREATE TABLE message (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                queue INTEGER NOT NULL REFERENCES queue (id) ON DELETE CASCADE,
                message_id BLOB NOT NULL,
                received INTEGER NOT NULL,
                flags BLOB,
                body BLOB
            ) STRICT;
            CREATE INDEX message_by_queue ON message (queue, number);
            CREATE INDEX message_by_age ON message (received);
            CREATE INDEX queue_by_use ON queue (unused, used);
            """, replaces: DevelopmentSchema(steps: 2, last: "uses of queues"))
    ]

    static let columns =
        """
        q.id, q.recipient_id, q.sender_id, q.recipient_key, q.sender_key, q.mode, q.box_secret, q.suspended,
        q.full, q.used, q.unused
        """

    static func record(_ row: borrowing Row) throws -> QueueRecord {
        var secret = row.bytes("box_secret")
        guard secret.count == MessageBox.keyLength else {
            throw MessageRelayError(.records, "A queue of the relay is damaged.")
        }
        return QueueRecord(
            id: row.integer("id"), recipientID: row.bytes("recipient_id"), senderID: row.bytes("sender_id"),
            recipientKey: row.bytes("recipient_key"), senderKey: row.bytesOrNil("sender_key"),
            mode: try row.valueOrNil("mode"),
            boxSecret: WipedBytes(taking: &secret), isSuspended: row.bool("suspended"),
            isFull: row.bool("full"), used: row.integer("used"), isUnused: row.bool("unused"))
    }

    func queue(ofRecipient id: [UInt8]) throws -> QueueRecord? {
        try connection.first(
            "SELECT \(Self.columns) FROM queue q WHERE q.recipient_id = ?", id, row: Self.record)
    }

    func queue(ofSender id: [UInt8]) throws -> QueueRecord? {
        try connection.first(
            "SELECT \(Self.columns) FROM queue q WHERE q.sender_id = ?", id, row: Self.record)
    }

    func queue(ofLink id: [UInt8]) throws -> QueueRecord? {
        try connection.first(
            "SELECT \(Self.columns) FROM queue q JOIN link l ON l.queue = q.id WHERE l.link_id = ?", id,
            row: Self.record)
    }

    /// Returns the key of a queue's recipient, or nil if the queue does not exist.
    func recipientKey(ofRecipient id: [UInt8]) throws -> [UInt8]? {
        try connection.first("SELECT recipient_key FROM queue WHERE recipient_id = ?", id) {
            $0.bytes("recipient_key")
        }
    }

    /// Returns the key that secures a queue, or nil if it is unsecured or does not exist.
    func senderKey(ofSender id: [UInt8]) throws -> [UInt8]? {
        try connection.first(
            "SELECT sender_key FROM queue WHERE sender_id = ? AND sender_key IS NOT NULL", id
        ) { $0.bytes("sender_key") }
    }

    func queue(_ id: Int64) throws -> QueueRecord? {
        try connection.first("SELECT \(Self.columns) FROM queue q WHERE q.id = ?", id, row: Self.record)
    }

    /// Creates a queue and returns its row id, or nil if the sender's id exists.
    /// - Parameter time: The creation time in seconds since 1970, rounded down.
    func insert(
        _ queue: Command.NewQueue, _ ids: Answer.QueueIDs, boxSecret: WipedBytes, at time: Int64
    ) throws -> Int64? {
        guard try !connection.exists("SELECT 1 FROM queue WHERE sender_id = ?", ids.senderID) else {
            return nil
        }
        try connection.execute(
            """
            INSERT INTO queue (recipient_id, sender_id, recipient_key, mode, box_secret, used, unused)
            VALUES (?, ?, ?, ?, ?, ?, 1)
            """, ids.recipientID, ids.senderID, queue.recipientKey,
            queue.mode?.rawValue, boxSecret.bytes, time)
        return connection.lastInsertedID
    }

    func secure(_ queue: Int64, with senderKey: [UInt8]) throws {
        try connection.execute("UPDATE queue SET sender_key = ? WHERE id = ?", senderKey, queue)
    }

    func suspend(_ queue: Int64) throws {
        try connection.execute("UPDATE queue SET suspended = 1 WHERE id = ?", queue)
    }

    func setFull(_ isFull: Bool, _ queue: Int64) throws {
        try connection.execute("UPDATE queue SET full = ? WHERE id = ?", isFull, queue)
    }

    func delete(_ queue: Int64) throws {
        try connection.execute("DELETE FROM queue WHERE id = ?", queue)
    }

    // MARK: Links

    func link(of queue: Int64) throws -> (id: [UInt8], data: LinkBlobs)? {
        try connection.first("SELECT link_id, fixed, user FROM link WHERE queue = ?", queue) { row in
            (row.bytes("link_id"), LinkBlobs(fixed: row.bytes("fixed"), user: row.bytes("user")))
        }
    }

    /// Sets the link of a queue. Returns false if another queue has a link with this id.
    func setLink(_ id: [UInt8], _ data: LinkBlobs, of queue: Int64) throws -> Bool {
        guard
            try !connection.exists("SELECT 1 FROM link WHERE link_id = ? AND queue <> ?", id, queue)
        else { return false }
        try connection.execute(
            """
            INSERT INTO link (queue, link_id, fixed, user) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (queue) DO UPDATE SET link_id = ?2, fixed = ?3, user = ?4
            """, queue, id, data.fixed, data.user)
        return true
    }

    func deleteLink(of queue: Int64) throws {
        try connection.execute("DELETE FROM link WHERE queue = ?", queue)
    }

    // MARK: Disk use

    /// Returns the quota used by all queues and messages, in bytes.
    func usedBytes() throws -> UInt64 {
        func sum(_ sql: String) throws -> UInt64 {
            try connection.first(sql) { UInt64(clamping: $0.integer("sum")) } ?? 0
        }
        return try sum(
            "SELECT count(*) * \(DiskUse.queue) + coalesce(sum(length(fixed) + length(user)), 0) AS sum "
                + "FROM queue LEFT JOIN link ON link.queue = queue.id")
            + sum(
                "SELECT count(*) * \(DiskUse.message) + coalesce(sum(length(body)), 0) AS sum FROM message")
    }

    /// Returns the quota used by one queue, in bytes.
    func usedBytes(of queue: Int64) throws -> UInt64 {
        let messages = try connection.first(
            """
            SELECT count(*) * \(DiskUse.message) + coalesce(sum(length(body)), 0) AS sum FROM message
            WHERE queue = ?
            """, queue
        ) { UInt64(clamping: $0.integer("sum")) }
        return DiskUse.queue + (messages ?? 0) + DiskUse.link(try link(of: queue)?.data)
    }
}
