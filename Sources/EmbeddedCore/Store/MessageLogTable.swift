import Base
import ChatCore
import ChatProtocol
import Store

/// Chat logs, one row per line with its byte position, for fast access to any part.
struct MessageLogTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // MARK: - Reading

    private static let length = "m.position + length(m.line) AS size, m.written"

    /// Returns nil for a chat without messages.
    func log(of chat: Int64) throws -> MessageLog? {
        try connection.first(
            "SELECT \(Self.length) FROM message_line m WHERE m.chat = ? ORDER BY m.position DESC LIMIT 1",
            chat
        ) { MessageLog(size: $0.unsigned("size"), modified: $0.timestamp("written")) }
    }

    func logs(of profile: Int64) throws -> [ChatReference: MessageLog] {
        let found = try connection.query(
            """
            SELECT c.id, c.kind, \(Self.length) FROM chat c JOIN message_line m ON m.chat = c.id
                AND m.position = (SELECT max(position) FROM message_line WHERE chat = c.id)
            WHERE c.profile = ?
            """, profile
        ) { row in
            (
                try row.value("kind", as: StoredChatKind.self).reference(row.integer("id")),
                MessageLog(size: row.unsigned("size"), modified: row.timestamp("written"))
            )
        }
        return Dictionary(found, uniquingKeysWith: { first, _ in first })
    }

    /// Returns up to `count` bytes from `offset`.
    func bytes(of chat: Int64, from offset: UInt64, count: Int) throws -> [UInt8] {
        guard let start = Int64(exactly: offset), count > 0 else { return [] }
        let end = start &+ Int64(count) < start ? Int64.max : start + Int64(count)
        let lines = try connection.query(
            """
            SELECT position, line FROM message_line WHERE chat = ? AND position < ? AND position >=
                (SELECT max(position) FROM message_line WHERE chat = ? AND position <= ?)
            ORDER BY position
            """, chat, end, chat, start
        ) { (position: $0.integer("position"), line: $0.bytes("line")) }
        var bytes: [UInt8] = []
        for (position, line) in lines {
            let first = max(start - position, 0)
            let last = min(end - position, Int64(line.count))
            if first < last { bytes += line[Int(first)..<Int(last)] }
        }
        return bytes
    }

    /// Returns the shared id of an item's message.
    func message(of item: ItemID) throws -> SharedMessageID? {
        try connection.first(
            "SELECT shared_id FROM message_line WHERE item = ?", item.rawValue
        ) { SharedMessageID(bytes: $0.bytes("shared_id")) } ?? nil
    }

    /// Whether the message has a line.
    func holds(_ id: SharedMessageID, in chat: Int64) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM message_line WHERE chat = ? AND shared_id = ?", chat, id.bytes)
    }

    /// Whether the request was already sent.
    func holds(request: String, in chat: Int64) throws -> Bool {
        try connection.exists("SELECT 1 FROM message_line WHERE chat = ? AND request = ?", chat, request)
    }

    // MARK: - Changes

    /// - Parameters:
    ///   - time: current time, independent of the message's time.
    ///   - request: idempotency key of a sent text.
    func append(_ line: MessageLine, to chat: Int64, at time: Timestamp, request: String?) throws {
        try connection.execute(
            """
            INSERT INTO message_line (chat, position, line, event, shared_id, author, item, request, written,
                disappears) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, chat, Int64(clamping: log(of: chat)?.size ?? 0), line.bytes, line.event, line.id.bytes,
            SharedMessageTable.word(line.author), line.file?.item.rawValue, request, time, line.disappears)
    }

    // MARK: - Disappearing

    /// A message without an item.
    struct Text {
        var chat: Int64
        var id: SharedMessageID
        /// Stored word for the author; nil in lines of earlier releases.
        var author: String?
    }

    /// Returns up to `count` expired texts of a profile, oldest first.
    func disappeared(of profile: Int64, at time: Timestamp, count: Int) throws -> [Text] {
        try connection.query(
            """
            SELECT m.chat, m.shared_id, m.author FROM message_line m JOIN chat c ON c.id = m.chat
            WHERE m.disappears IS NOT NULL AND m.disappears <= ? AND c.profile = ? ORDER BY m.disappears LIMIT ?
            """, time, profile, count, row: text
        ).compactMap { $0 }
    }

    /// Returns the next expiry; nil if no text expires.
    func nextExpiry(of profile: Int64) throws -> Timestamp? {
        try connection.first(
            """
            SELECT min(m.disappears) AS next FROM message_line m JOIN chat c ON c.id = m.chat
            WHERE m.disappears IS NOT NULL AND c.profile = ?
            """, profile
        ) { $0.timestampOrNil("next") } ?? nil
    }

    /// Returns an item's message; nil without a line.
    func text(of item: ItemID) throws -> Text? {
        try connection.first(
            "SELECT chat, shared_id, author FROM message_line WHERE item = ?", item.rawValue, row: text
        ) ?? nil
    }

    private func text(_ row: borrowing Row) throws -> Text? {
        SharedMessageID(bytes: row.bytes("shared_id")).map {
            Text(chat: row.integer("chat"), id: $0, author: row.textOrNil("author"))
        }
    }

    /// Replaces all lines of an expired message by blanks. The log keeps its size and gets a new modification
    /// time.
    func blank(_ text: Text, at time: Timestamp) throws {
        // Match the author too: programs choose ids, so one author could blank another's text.
        let lines = try connection.query(
            """
            SELECT id, length(line) AS length FROM message_line
            WHERE chat = ? AND shared_id = ? AND (author IS NULL OR author = coalesce(?, author))
            """, text.chat, text.id.bytes, text.author
        ) { (id: $0.integer("id"), length: Int($0.integer("length"))) }
        for line in lines {
            try connection.execute(
                "UPDATE message_line SET line = ?, disappears = NULL WHERE id = ?",
                MessageLine.blank(text.id, length: line.length), line.id)
        }
        try connection.execute(
            """
            UPDATE message_line SET written = max(written, ?) WHERE chat = ? AND position =
                (SELECT max(position) FROM message_line WHERE chat = ?)
            """, time, text.chat, text.chat)
    }
}
