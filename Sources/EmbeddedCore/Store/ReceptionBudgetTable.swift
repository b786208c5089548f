import Base
import ChatProtocol
import Store

/// Budgets for automatically received files, by author and chat.
struct ReceptionBudgetTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Returns an unspent budget for an unknown author.
    func budget(of author: Author, in chat: Int64, at now: ElapsedTime) throws -> ReceptionBudget {
        try connection.first(
            "SELECT since, files, bytes FROM unasked_budget WHERE chat = ? AND author = ?", chat,
            SharedMessageTable.word(author)
        ) { row in
            ReceptionBudget(
                since: ElapsedTime(nanoseconds: row.integer("since")), files: Int(row.integer("files")),
                bytes: row.unsigned("bytes"))
        } ?? ReceptionBudget(since: now)
    }

    func keep(_ budget: ReceptionBudget, of author: Author, in chat: Int64) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO unasked_budget (chat, author, since, files, bytes) VALUES (?, ?, ?, ?, ?)",
            chat, SharedMessageTable.word(author), budget.since, budget.files, budget.bytes)
    }
}
