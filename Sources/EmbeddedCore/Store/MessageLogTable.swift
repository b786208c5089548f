import Base
import ChatCore
import ChatProtocol
import Store

/// The logs of chats, line by line, each with its place, so that a part of a long log is found at once.
struct MessageLogTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // MARK: - Reading

    private static let length = "m.position + length(m.line) AS size, m.written"

    /// nil of a chat without messages.
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

    /// Up to `count` bytes from `offset` on.
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

    /// What both sides call the message of an item.
    func message(of item: ItemID) throws -> SharedMessageID? {
        try connection.first(
            "SELECT shared_id FROM message_line WHERE item = ?", item.rawValue
        ) { SharedMessageID(bytes: $0.bytes("shared_id")) } ?? nil
    }

    /// Whether there is a line of a message.
    func holds(_ id: SharedMessageID, in chat: Int64) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM message_line WHERE chat = ? AND shared_id = ?", chat, id.bytes)
    }

    /// Whether what was to be sent was.
    func holds(request: String, in chat: Int64) throws -> Bool {
        try connection.exists("SELECT 1 FROM message_line WHERE chat = ? AND request = ?", chat, request)
    }

    // MARK: - Writing

    /// - Parameters:
    ///   - time: of now, whatever the line says of its message.
    ///   - request: by which a repetition of what was to be sent is known.
    func append(_ line: MessageLine, to chat: Int64, at time: Timestamp, request: String?) throws {
        try connection.execute(
            """
            INSERT INTO message_line (chat, position, line, event, shared_id, item, request, written)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, chat, Int64(clamping: log(of: chat)?.size ?? 0), line.bytes, line.event, line.id.bytes,
            line.file?.item.rawValue, request, time)
    }

    /// Takes the words out of all lines about the message of an item, because its time is over.
    func blank(_ item: ItemID) throws {
        let found = try connection.first(
            "SELECT chat, shared_id FROM message_line WHERE item = ?", item.rawValue
        ) { (chat: $0.integer("chat"), id: SharedMessageID(bytes: $0.bytes("shared_id"))) }
        guard let found, let id = found.id else { return }
        let lines = try connection.query(
            "SELECT id, length(line) AS length FROM message_line WHERE chat = ? AND shared_id = ?",
            found.chat, id.bytes
        ) { (id: $0.integer("id"), length: Int($0.integer("length"))) }
        for line in lines {
            try connection.execute(
                "UPDATE message_line SET line = ? WHERE id = ?", MessageLine.blank(id, length: line.length),
                line.id)
        }
    }
}
