import Base
import ChatCore
import ChatProtocol
import CoreServices
import Store

/// Chat logs, one row per line with its byte position, for fast access to any part.
struct MessageLogTable: LogTable {
    static let name = "message_line"
    let connection: Connection

    // MARK: - Reading

    func logs(of profile: Int64) throws -> [ChatReference: MessageLog] {
        let found = try connection.query(
            """
            SELECT c.id, c.kind, m.position + length(m.line) AS size, m.written
            FROM chat c JOIN message_line m ON m.chat = c.id
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

    /// Whether the own message has a line. Peers may repeat its id.
    func holdsOwn(_ id: SharedMessageID, in chat: Int64) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM message_line WHERE chat = ? AND shared_id = ? AND coalesce(author, ?) = ?", chat,
            id.bytes, SharedMessageTable.word(.own), SharedMessageTable.word(.own))
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
            """, chat, length(of: chat), line.bytes, line.event, line.id.bytes,
            SharedMessageTable.word(line.author), line.file?.item.rawValue, request, time, line.disappears)
    }

    // MARK: - Disappearing

    /// A message without an item.
    struct Text {
        var chat: Int64
        var id: SharedMessageID
        /// Stored word for the author; nil in lines of earlier releases.
        var author: String?

        /// The author's id in a group.
        var member: String? {
            if case .member(let id)? = author.flatMap(SharedMessageTable.author) { id.text } else { nil }
        }
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
                Self.blank(text.id.text, by: text.member, length: line.length), line.id)
        }
        try touch(text.chat, at: time)
    }
}
