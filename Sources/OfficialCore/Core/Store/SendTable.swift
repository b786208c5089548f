import ChatCore
import Store

/// A send that was begun, as the index has it.
struct BegunSend: Sendable {
    /// Its own folder in the staging folder: the mark by which the core's message is recognised.
    var folder: String
    /// The process of the core to which it was given.
    var run: String
    var item: ItemID?
    /// The newest item that was known when the first attempt began; 0 when nothing was.
    var newest: ItemID
}

struct SendTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    func send(of message: String) throws -> BegunSend? {
        try connection.first("SELECT folder, run, item, newest FROM send WHERE message = ?", message) { row in
            BegunSend(
                folder: row.text("folder"), run: row.text("run"),
                item: row.integerOrNil("item").map(ItemID.init), newest: ItemID(row.integer("newest")))
        }
    }

    /// An attempt begins. What the core makes from now on is newer than all it has: its items are numbered in one
    /// row, whatever chat they are in. A repetition keeps the first one's.
    func begin(
        _ message: String, size: UInt64, in chat: ChatReference, folder: String, run: String
    ) throws {
        try connection.execute(
            """
            INSERT INTO send (message, chat, folder, run, size, newest)
            VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM item))
            ON CONFLICT (message) DO UPDATE SET run = excluded.run
            """, message, chat.description, folder, run, size)
    }

    /// The core has it: the message is this item.
    func end(_ message: String, as item: ItemID) throws {
        try connection.execute("UPDATE send SET item = ? WHERE message = ?", item.rawValue, message)
    }

    /// The core refused it.
    func forget(_ message: String) throws {
        try connection.execute("DELETE FROM send WHERE message = ? AND item IS NULL", message)
    }

    /// Forgets the sends of an item that is gone. Returns their folders.
    func remove(of item: ItemID) throws -> [String] {
        let folders = try connection.query("SELECT folder FROM send WHERE item = ?", item.rawValue) {
            $0.text("folder")
        }
        try connection.execute("DELETE FROM send WHERE item = ?", item.rawValue)
        return folders
    }
}
