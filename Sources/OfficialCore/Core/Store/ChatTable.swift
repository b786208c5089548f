import Base
import ChatCore
import Store

/// The chats in the index.
struct ChatTable {
    let connection: Connection

    func chat(_ reference: ChatReference) throws -> Chat? {
        try connection.first(
            "SELECT chat, name, named, updated, refused FROM chat WHERE chat = ?", reference.description,
            row: chat)
            ?? nil
    }

    /// Returns the chats to show: current ones, and deleted ones with files.
    func shown() throws -> [Chat] {
        try connection.query(
            """
            SELECT chat, name, named, updated, refused FROM chat
            WHERE gone = 0 OR EXISTS (SELECT 1 FROM item WHERE item.chat = chat.chat)
            ORDER BY updated DESC, chat
            """, row: chat
        ).compactMap { $0 }
    }

    private func chat(_ row: borrowing Row) -> Chat? {
        guard let reference = ChatReference(row.text("chat")) else { return nil }
        return Chat(
            reference: reference, displayName: row.text("name"), updatedAt: row.timestamp("updated"),
            sendingRefused: row.textOrNil("refused"), isNamedByUser: row.bool("named"),
            supportedActions: APIChatInfo.supportedActions(in: reference))
    }

    /// Writes a chat. A new one counts as compared, because its walk reads all its messages.
    func put(_ chat: Chat, isGone: Bool) throws {
        try connection.execute(
            """
            INSERT INTO chat (chat, name, named, updated, refused, gone, compared)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (chat) DO UPDATE SET name = excluded.name, named = excluded.named,
                updated = max(updated, excluded.updated), refused = excluded.refused, gone = excluded.gone
            """, chat.reference.description, chat.displayName, chat.isNamedByUser, chat.updatedAt,
            chat.sendingRefused, isGone, chat.updatedAt)
    }

    func remove(_ chat: ChatReference) throws {
        try connection.execute("DELETE FROM chat WHERE chat = ?", chat.description)
    }

    /// Returns the time of each chat's last message, and the time up to which all its messages were read.
    func updates() throws -> [String: (updated: Timestamp, compared: Timestamp)] {
        let rows = try connection.query("SELECT chat, updated, compared FROM chat") { row in
            (row.text("chat"), (updated: row.timestamp("updated"), compared: row.timestamp("compared")))
        }
        return Dictionary(rows, uniquingKeysWith: { first, _ in first })
    }

    /// Records that all messages of the chat up to `time` were read.
    func noteCompared(_ chat: ChatReference, to time: Timestamp) throws {
        try connection.execute(
            "UPDATE chat SET compared = ? WHERE chat = ? AND compared != ?", time, chat.description, time)
    }

    /// Records that the core lists the chat. If it stops listing the chat, the chat is deleted.
    func noteListed(_ chat: ChatReference) throws {
        try connection.execute("UPDATE chat SET listed = 1 WHERE chat = ? AND listed = 0", chat.description)
    }

    func listed() throws -> [String] {
        try connection.query("SELECT chat FROM chat WHERE listed = 1") { $0.text("chat") }
    }

    /// Returns the number of items from `first` on in each chat whose history is read.
    func counts(from first: Int64) throws -> [(chat: String, count: Int64)] {
        try connection.query(
            """
            SELECT chat.chat,
                (SELECT count(*) FROM item WHERE item.chat = chat.chat AND item.id >= ?) AS count
            FROM chat
            WHERE NOT EXISTS (SELECT 1 FROM walk WHERE walk.chat = chat.chat AND done = 0)
            """, first
        ) { ($0.text("chat"), $0.integer("count")) }
    }
}
