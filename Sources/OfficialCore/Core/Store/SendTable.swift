import ChatCore
import Store

/// A recorded send.
struct BegunSend: Sendable {
    /// Its own folder in the staging folder, which identifies the core's message.
    var folder: String
    /// Id of the core's process.
    var run: String
    var item: ItemID?
    /// The newest known item when the first attempt started; 0 for none.
    var newest: ItemID
}

struct SendTable {
    let connection: Connection

    func send(of message: String) throws -> BegunSend? {
        try connection.first("SELECT folder, run, item, newest FROM send WHERE message = ?", message) { row in
            BegunSend(
                folder: row.text("folder"), run: row.text("run"),
                item: row.integerOrNil("item").map(ItemID.init), newest: ItemID(row.integer("newest")))
        }
    }

    /// Records the start of an attempt. The core numbers items of all chats in one sequence, so its message
    /// is newer than all known items. A repetition keeps the first attempt's values. A phone may give the
    /// name of a deleted file again, so the send that had it before is forgotten if it is over.
    func begin(
        _ message: String, size: UInt64, in chat: ChatReference, folder: String, run: String
    ) throws {
        try connection.execute(
            "DELETE FROM send WHERE folder = ? AND message != ? AND item IS NOT NULL", folder, message)
        try connection.execute(
            """
            INSERT INTO send (message, chat, folder, run, size, newest)
            VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM item))
            ON CONFLICT (message) DO UPDATE SET run = excluded.run
            """, message, chat.description, folder, run, size)
    }

    /// Records the item that the message became.
    func end(_ message: String, as item: ItemID) throws {
        try connection.execute("UPDATE send SET item = ? WHERE message = ?", item.rawValue, message)
    }

    /// Forgets a message that the core refused.
    func forget(_ message: String) throws {
        try connection.execute("DELETE FROM send WHERE message = ? AND item IS NULL", message)
    }

    /// Forgets the sends of a deleted item. Returns their folders.
    func remove(of item: ItemID) throws -> [String] {
        let folders = try connection.query("SELECT folder FROM send WHERE item = ?", item.rawValue) {
            $0.text("folder")
        }
        try connection.execute("DELETE FROM send WHERE item = ?", item.rawValue)
        return folders
    }
}
