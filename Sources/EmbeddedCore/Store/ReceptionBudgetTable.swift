import Base
import ChatProtocol
import Store

/// Budgets for automatically received files, by author and chat. All members of a group share a larger one,
/// because a host can connect many. Members without an own connection share one of a member's size, because a
/// forwarder can invent authors; each may use a quarter of it.
struct ReceptionBudgetTable {
    let connection: Connection

    /// Limits of a group, as a multiple of a member's.
    static let groupFactor = 4

    /// A stored budget.
    private struct Account {
        var word: String
        /// Its limits in quarters of a member's.
        var quarters = 4
    }

    /// Returns the budgets that pay for a file. The first is the author's own.
    private func accounts(of author: Author, in chat: Int64) throws -> [Account] {
        let word = SharedMessageTable.word(author)
        guard case .member(let id) = author else { return [Account(word: word)] }
        let group = Account(word: "group", quarters: 4 * Self.groupFactor)
        let isForwarded = try connection.exists(
            """
            SELECT 1 FROM network_group WHERE chat = ? AND host_id != ? AND NOT EXISTS (
                SELECT 1 FROM member_connection WHERE chat = ? AND member = ? AND phase = 'connected')
            """, chat, id.bytes, chat, id.bytes)
        guard isForwarded else { return [Account(word: word), group] }
        return [Account(word: word, quarters: 1), Account(word: "forwarded"), group]
    }

    /// Returns whether all budgets allow an author's file.
    /// - Parameter isPushed: whether it is lost if refused. Then a quarter of the author's own budget is enough,
    ///   which others cannot use up.
    func allow(
        _ size: UInt64, of author: Author, in chat: Int64, free: UInt64?, at now: ElapsedTime,
        isPushed: Bool = false
    ) throws -> Bool {
        var accounts = try accounts(of: author, in: chat)
        func allow(_ account: Account) throws -> Bool {
            try budget(account, in: chat, at: now).allows(
                size, free: free, at: now, quarters: account.quarters)
        }
        if try accounts.allSatisfy(allow) { return true }
        // An invented author has no share.
        guard isPushed, accounts[0].quarters > 1 else { return false }
        accounts[0].quarters = 1
        return try allow(accounts[0])
    }

    /// Charges an author's file that `allow` has permitted. Deletes the chat's past budgets.
    func spend(_ size: UInt64, of author: Author, in chat: Int64, at now: ElapsedTime) throws {
        try connection.execute(
            "DELETE FROM unasked_budget WHERE chat = ? AND since <= ?", chat,
            now.advanced(by: .zero - ReceptionBudget.period))
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
