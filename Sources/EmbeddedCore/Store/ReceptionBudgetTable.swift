import Base
import ChatProtocol
import Store

/// Budgets for automatically received files, by author and chat. Group members without an own connection share
/// the host's budget, because a forwarder can invent authors. All members of a group share a larger one, because
/// a host can also connect many.
struct ReceptionBudgetTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Limits of a group, as a multiple of a member's.
    static let groupFactor = 4

    /// A stored budget.
    private struct Account {
        var word: String
        var factor = 1
    }

    /// Returns the budgets that pay for a file.
    private func accounts(of author: Author, in chat: Int64) throws -> [Account] {
        guard case .member(let id) = author else { return [Account(word: SharedMessageTable.word(author))] }
        let host = try connection.first(
            """
            SELECT host_id FROM network_group WHERE chat = ? AND NOT EXISTS (
                SELECT 1 FROM member_connection WHERE chat = ? AND member = ? AND phase = 'connected')
            """, chat, chat, id.bytes
        ) { MemberID(bytes: $0.bytes("host_id")) }
        let payer = Author.member((host ?? nil) ?? id)
        return [
            Account(word: SharedMessageTable.word(payer)), Account(word: "group", factor: Self.groupFactor),
        ]
    }

    /// Returns whether all budgets allow an author's file.
    func allow(
        _ size: UInt64, of author: Author, in chat: Int64, free: UInt64?, at now: ElapsedTime
    ) throws -> Bool {
        try accounts(of: author, in: chat).allSatisfy {
            try budget($0, in: chat, at: now).allows(size, free: free, at: now, factor: $0.factor)
        }
    }

    /// Charges an author's file that `allow` has permitted.
    func spend(_ size: UInt64, of author: Author, in chat: Int64, at now: ElapsedTime) throws {
        for account in try accounts(of: author, in: chat) {
            var budget = try budget(account, in: chat, at: now)
            budget.spend(size, at: now)
            try connection.execute(
                """
                INSERT OR REPLACE INTO unasked_budget (chat, author, since, files, bytes) VALUES (?, ?, ?, ?, ?)
                """, chat, account.word, budget.since, budget.files, budget.bytes)
        }
    }

    /// Returns an unspent budget if there is none yet.
    private func budget(_ account: Account, in chat: Int64, at now: ElapsedTime) throws -> ReceptionBudget {
        try connection.first(
            "SELECT since, files, bytes FROM unasked_budget WHERE chat = ? AND author = ?", chat, account.word
        ) { row in
            ReceptionBudget(
                since: ElapsedTime(nanoseconds: row.integer("since")), files: Int(row.integer("files")),
                bytes: row.unsigned("bytes"))
        } ?? ReceptionBudget(since: now)
    }
}
