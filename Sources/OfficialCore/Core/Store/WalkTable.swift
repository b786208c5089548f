import ChatCore
import Store

/// A walk through the history of a chat or of a part of a group, page by page from the newest message to the
/// oldest. Its position is stored, so it continues after a restart.
struct Walk: Sendable {
    var reference: APIChatReference
    var number: Int64
    /// Newest item when the walk began; 0 before its first page.
    var start: Int64
    /// Oldest item of the last page; nil before the first.
    var frontier: ItemID?
}

struct WalkTable {
    let connection: Connection

    /// Adds a walk for a new part. Returns false if it has one.
    func add(_ reference: APIChatReference) throws -> Bool {
        try connection.execute(
            "INSERT OR IGNORE INTO walk (reference, chat, number, done) VALUES (?, ?, 1, 0)",
            reference.description, reference.chat.description) > 0
    }

    /// Unfinished walks: first those without a page, then the others, each with the newest chats first.
    func unfinished() throws -> [Walk] {
        try connection.query(
            """
            SELECT walk.reference, walk.number, walk.start, walk.frontier FROM walk
            JOIN chat ON chat.chat = walk.chat WHERE walk.done = 0
            ORDER BY walk.frontier IS NOT NULL, chat.updated DESC, walk.reference
            """
        ) { row in
            APIChatReference(text: row.text("reference")).map { reference in
                Walk(
                    reference: reference, number: row.integer("number"), start: row.integer("start"),
                    frontier: row.integerOrNil("frontier").map(ItemID.init))
            }
        }.compactMap { $0 }
    }

    /// Advances a walk by one page.
    func advance(_ walk: Walk, to frontier: ItemID, start: Int64) throws {
        try connection.execute(
            "UPDATE walk SET frontier = ?, start = ? WHERE reference = ? AND number = ?",
            frontier.rawValue, start, walk.reference.description, walk.number)
    }

    /// Ends a walk at the oldest message, or restarts it if `doubtUnfinished` was called meanwhile.
    func end(_ walk: Walk) throws {
        try connection.execute(
            """
            UPDATE walk SET done = 1 - again, number = number + again, start = 0, frontier = NULL, again = 0
            WHERE reference = ? AND number = ?
            """, walk.reference.description, walk.number)
    }

    private static let beginAgain =
        "UPDATE walk SET number = number + 1, start = 0, frontier = NULL, done = 0"

    /// Restarts a walk from the newest message.
    func restart(_ walk: Walk) throws {
        try connection.execute("\(Self.beginAgain) WHERE reference = ?", walk.reference.description)
    }

    /// Restarts all finished walks.
    func repeatAll() throws { try connection.execute("\(Self.beginAgain) WHERE done = 1") }

    /// Restarts the finished walks of a chat.
    func repeatWalks(of chat: String) throws {
        try connection.execute("\(Self.beginAgain) WHERE chat = ? AND done = 1", chat)
    }

    /// Marks running walks to be restarted after their end.
    func doubtUnfinished() throws {
        try connection.execute("UPDATE walk SET again = 1 WHERE done = 0 AND frontier IS NOT NULL")
    }

    func remove(of chat: ChatReference) throws {
        try connection.execute("DELETE FROM walk WHERE chat = ?", chat.description)
    }
}
