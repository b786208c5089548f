import Base
import ChatCore
import CoreServices
import Store

/// The logs of a phone's chats, one row for each line. A line has no position while pages of its part are read, which
/// begin at the newest message; `place` then adds these lines in order.
struct TextTable: LogTable {
    static let name = "text"
    let connection: Connection

    // MARK: - Reading

    func logs() throws -> [ChatReference: MessageLog] {
        let chats = try connection.query("SELECT DISTINCT chat FROM text WHERE position IS NOT NULL") {
            ChatReference($0.text("chat"))
        }
        return try chats.compactMap(\.self).reduce(into: [:]) { logs, chat in logs[chat] = try log(of: chat) }
    }

    // MARK: - Changes

    /// Records the text of a message, which may be known or edited.
    /// - Parameters:
    ///   - isArrival: True for a new message, whose line follows all others.
    ///   - isHeld: True if a new line waits for `place`.
    /// - Returns: True if the log grew.
    func take(
        _ line: TextLine, in reference: APIChatReference, isArrival: Bool, isHeld: Bool, at time: Timestamp
    ) throws -> Bool {
        // Blank lines stay so: a message that returns is a new one.
        let known = try connection.first(
            """
            SELECT number, chat, line, position IS NULL AS waits FROM text WHERE item = ? AND seen < ?
            ORDER BY number DESC LIMIT 1
            """, line.item.rawValue, Int64.max
        ) { row in
            (
                number: row.integer("number"), chat: row.text("chat"), line: row.bytes("line"),
                waits: row.bool("waits")
            )
        }
        guard let known else {
            let follows = try !isBeingRead(reference) || (isArrival && log(of: reference.chat) != nil)
            let isPlaced = follows && !isHeld
            try insert(line.bytes(.message), of: line.item, in: reference, isPlaced: isPlaced, at: time)
            return isPlaced
        }
        // A message stays in its chat.
        guard known.chat == reference.chat.description else { return false }
        try connection.execute(
            "UPDATE text SET seen = \(Self.walk) WHERE item = ? AND seen < ?", reference.description,
            line.item.rawValue, Int64.max)
        guard TextLine.text(of: known.line) != line.text else { return false }
        if known.waits {
            try connection.execute(
                "UPDATE text SET line = ? WHERE number = ?", line.bytes(.message), known.number)
            return false
        }
        try insert(line.bytes(.edit), of: line.item, in: reference, isPlaced: true, at: time)
        return true
    }

    /// The number of the walk through a part of a chat.
    private static let walk = "coalesce((SELECT number FROM walk WHERE reference = ?), 0)"

    private func insert(
        _ line: [UInt8], of item: ItemID, in reference: APIChatReference, isPlaced: Bool, at time: Timestamp
    ) throws {
        let end = isPlaced ? try length(of: reference.chat) : nil
        try connection.execute(
            """
            INSERT INTO text (chat, reference, seen, item, position, line, written)
            VALUES (?, ?, \(Self.walk), ?, ?, ?, ?)
            """, reference.chat.description, reference.description, reference.description, item.rawValue,
            end, line, time)
    }

    func isBeingRead(_ reference: APIChatReference) throws -> Bool {
        try connection.exists("SELECT 1 FROM walk WHERE reference = ? AND done = 0", reference.description)
    }

    /// Adds the waiting lines of a part to the log, in the order of their messages.
    /// - Returns: True if the log grew.
    func place(_ reference: APIChatReference, at time: Timestamp) throws -> Bool {
        let start = try length(of: reference.chat)
        return try connection.execute(
            """
            UPDATE text SET written = ?, position = placed.position FROM (
                SELECT number, ? + sum(length(line)) OVER (ORDER BY item, number) - length(line) AS position
                FROM text WHERE reference = ? AND position IS NULL
            ) AS placed WHERE placed.number = text.number
            """, time, start, reference.description) > 0
    }

    /// Items of a part with lines, up to the start of a walk, that the walk did not find.
    func items(in reference: APIChatReference, notMetBy walk: Int64, upTo start: Int64) throws -> [ItemID] {
        try connection.query(
            "SELECT DISTINCT item FROM text WHERE reference = ? AND seen < ? AND item <= ?",
            reference.description, walk, start
        ) { ItemID($0.integer("item")) }
    }

    /// Blanks the lines of a message that is gone. The log keeps its size and gets a later modification time, also if the
    /// clock was set back.
    /// - Returns: The chat if its log had such a line.
    func blank(_ item: ItemID, at time: Timestamp) throws -> ChatReference? {
        try connection.execute("DELETE FROM text WHERE item = ? AND position IS NULL", item.rawValue)
        let lines = try connection.query(
            "SELECT number, chat, length(line) AS length FROM text WHERE item = ? AND seen < ?",
            item.rawValue, Int64.max
        ) { (number: $0.integer("number"), chat: $0.text("chat"), length: Int($0.integer("length"))) }
        for line in lines {
            // No walk looks for a blank line.
            try connection.execute(
                "UPDATE text SET line = ?, seen = ? WHERE number = ?",
                Self.blank(String(item.rawValue), length: line.length), Int64.max, line.number)
        }
        guard let chat = lines.first?.chat else { return nil }
        try touch(chat, at: time)
        return ChatReference(chat)
    }

    func remove(of chat: ChatReference) throws {
        try connection.execute("DELETE FROM text WHERE chat = ?", chat.description)
    }
}
