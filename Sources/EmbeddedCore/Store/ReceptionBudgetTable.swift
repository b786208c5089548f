import Base
import ChatProtocol
import Store

/// Budgets for automatically received files, by author and chat. Group members without an own connection share
/// the host's budget, because a forwarder can invent authors.
struct ReceptionBudgetTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Returns the author whose budget pays for a file.
    private func payer(for author: Author, in chat: Int64) throws -> String {
        guard case .member(let id) = author else { return SharedMessageTable.word(author) }
        let host = try connection.first(
            """
            SELECT host_id FROM network_group WHERE chat = ? AND NOT EXISTS (
                SELECT 1 FROM member_connection WHERE chat = ? AND member = ? AND phase = 'connected')
            """, chat, chat, id.bytes
        ) { MemberID(bytes: $0.bytes("host_id")) }
        return SharedMessageTable.word(.member((host ?? nil) ?? id))
    }

    /// Returns an unspent budget if there is none yet.
    func budget(of author: Author, in chat: Int64, at now: ElapsedTime) throws -> ReceptionBudget {
        try connection.first(
            "SELECT since, files, bytes FROM unasked_budget WHERE chat = ? AND author = ?", chat,
            payer(for: author, in: chat)
        ) { row in
            ReceptionBudget(
                since: ElapsedTime(nanoseconds: row.integer("since")), files: Int(row.integer("files")),
                bytes: row.unsigned("bytes"))
        } ?? ReceptionBudget(since: now)
    }

    func keep(_ budget: ReceptionBudget, of author: Author, in chat: Int64) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO unasked_budget (chat, author, since, files, bytes) VALUES (?, ?, ?, ?, ?)",
            chat, payer(for: author, in: chat), budget.since, budget.files, budget.bytes)
    }
}
