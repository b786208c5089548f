import Base
import ChatCore
import Posix
import Store

/// Looking for what no event told: events are lost when a connection breaks, and another client of the
/// same core takes them for good.
extension OfficialCore {
    private static let mostChats = 5000
    /// Transfers looked at in one look.
    private static let mostTransfers = 20

    func reconcile(_ look: Look) async {
        guard state.withLock({ $0.isConnected }) else { return }
        do throws(ChatError) {
            if look == .whole { try await doubtUnfinishedWalks() }
            try await lookAtChats()
            try await lookAtTransfers()
            if look == .whole {
                try await lookForParts()
                try await compareCounts()
                try await noteNetwork()
            }
        } catch {
            // The connection, mostly: the next look does it.
            log.information("the chats could not be compared: \(error.sentence)")
        }
    }

    /// All chats; of those with a newer message the newest page.
    func lookAtChats() async throws(ChatError) {
        let command = APICommand.chats(user: profile.id, count: Self.mostChats)
        guard case .chats(let infos) = try await background(command) else {
            throw ChatError(.internalError, "The SimpleX core gave no list of chats.")
        }
        let changed = try await work { [self] in
            try commit { change -> [APIChatReference] in
                var known: [String: Timestamp] = [:]
                for (chat, updated) in try change.connection.query(
                    "SELECT chat, updated FROM chat", row: { ($0.text(0), $0.timestamp(1)) })
                {
                    known[chat] = updated
                }
                var changed: [APIChatReference] = []
                for info in infos {
                    let updated = known[info.reference.description]
                    if let updated, updated < info.updatedAt { changed.append(info.reference) }
                    try change.take(info)
                    try change.connection.execute(
                        "UPDATE chat SET listed = 1 WHERE chat = ? AND listed = 0",
                        info.reference.chat.description)
                }
                // A contact that was never written to is not listed, and not gone.
                let listed = try change.connection.query("SELECT chat FROM chat WHERE listed = 1") {
                    $0.text(0)
                }
                let present = Set(infos.map(\.reference.chat.description))
                for chat in listed where !present.contains(chat) && infos.count < Self.mostChats {
                    if let reference = ChatReference(chat) { try change.removeChat(reference) }
                }
                return changed
            }
        }
        for chat in changed { try await catchUp(chat) }
    }

    /// Reads back from the newest message until everything is known.
    private func catchUp(_ chat: APIChatReference) async throws(ChatError) {
        var page = APIPage.last(settings.pageSize)
        // Deeper than that the walk through the history goes.
        for _ in 0..<20 {
            let began = ContinuousClock.now
            guard case .chatPage(let answer) = try await background(.chatPage(chat, page)) else { return }
            let isMissing = try await work { [self] in
                try commit { change in
                    var isNew = false
                    for item in answer.items where !wasTold(item.id, since: began) {
                        let known = try ItemRows.item(item.id, change.connection) != nil
                        let shown = try change.take(item, .look) != nil
                        isNew = isNew || (shown && !known)
                    }
                    return isNew
                }
            }
            guard isMissing, let oldest = answer.items.first?.id else { return }
            page = .before(oldest, count: settings.pageSize)
        }
        try await walkAgain([chat.description])
    }

    /// Transfers whose end may have been told to somebody else.
    private func lookAtTransfers() async throws(ChatError) {
        let moving = try await work { [self] in
            try index.read { connection in
                try connection.query(
                    """
                    SELECT id, reference FROM item
                    WHERE status IN ('rcvAccepted', 'rcvTransfer', 'rcvWarning', 'sndTransfer', 'sndWarning')
                        OR status = 'sndStored' AND transport != 'local'
                    ORDER BY id DESC LIMIT ?
                    """, Self.mostTransfers
                ) { (ItemID($0.integer(0)), $0.text(1)) }
            }
        }
        for (id, text) in moving {
            guard let reference = APIChatReference(text: text) else { continue }
            let began = ContinuousClock.now
            let item = try await find(id, in: reference)
            try await work { [self] in
                try commit { change in
                    if wasTold(id, since: began) { return }
                    if let item { try change.take(item, .look) } else { try change.remove([id]) }
                }
            }
        }
    }

    // MARK: - Deeper

    /// What was deleted behind the place of a walk while nobody listened, that walk does not meet any
    /// more: it is begun once more when it has ended.
    private func doubtUnfinishedWalks() async throws(ChatError) {
        try await work { [self] in
            _ = try index.transaction {
                try $0.execute("UPDATE walk SET again = 1 WHERE done = 0 AND frontier IS NOT NULL")
            }
        }
    }

    /// Conversations of single members with the moderators, which no list of chats names.
    private func lookForParts() async throws(ChatError) {
        let rows = try await select(
            "SELECT DISTINCT group_id, coalesce(group_scope_group_member_id, 0) FROM chat_items "
                + "WHERE user_id = \(profile.id) AND group_scope_tag IS NOT NULL")
        guard let rows else { return }
        try await work { [self] in
            try index.transaction { connection in
                for row in rows where row.count == 2 && row[0] > 0 {
                    let part = APIChatReference(
                        .group(row[0]), scope: .support(member: row[1] > 0 ? row[1] : nil))
                    try connection.execute(
                        "INSERT OR IGNORE INTO walk (reference, chat, number, done) VALUES (?, ?, 1, 0)",
                        part.description, part.chat.description)
                }
            }
        }
    }

    /// How many files each chat has, there and here. Where the numbers differ the whole chat is walked
    /// through again.
    private func compareCounts() async throws(ChatError) {
        let rows = try await select(
            "SELECT coalesce(i.contact_id, 0), coalesce(i.group_id, 0), coalesce(i.note_folder_id, 0), "
                + "count(*) FROM files f JOIN chat_items i ON i.chat_item_id = f.chat_item_id "
                + "WHERE i.user_id = \(profile.id) AND i.item_deleted = 0 GROUP BY 1, 2, 3")
        guard let rows else {
            // A core that answers no such question: everything is walked through again, and whether a
            // description has arrived meanwhile is left to the core.
            try await work { [self] in
                _ = try index.transaction {
                    try $0.execute("UPDATE item SET described = 1 WHERE described = 0")
                }
            }
            return try await walkAgain(nil)
        }
        var counts: [String: Int64] = [:]
        for row in rows where row.count == 4 {
            let chat: ChatReference =
                row[0] > 0 ? .direct(row[0]) : row[1] > 0 ? .group(row[1]) : .notes(row[2])
            counts[chat.description, default: 0] += row[3]
        }
        let theirs = counts
        let different = try await work { [self] in
            try index.read { connection in
                try connection.query(
                    """
                    SELECT chat.chat, (SELECT count(*) FROM item WHERE item.chat = chat.chat) FROM chat
                    WHERE NOT EXISTS (SELECT 1 FROM walk WHERE walk.chat = chat.chat AND done = 0)
                    """
                ) { ($0.text(0), $0.integer(1)) }
            }.filter { theirs[$0.0, default: 0] != $0.1 }.map(\.0)
        }
        if !different.isEmpty { try await walkAgain(different) }
    }

    /// - Parameter chats: nil for all.
    private func walkAgain(_ chats: [String]?) async throws(ChatError) {
        try await work { [self] in
            try index.transaction { connection in
                let again = "UPDATE walk SET number = number + 1, start = 0, frontier = NULL, done = 0"
                guard let chats else {
                    try connection.execute(again + " WHERE done = 1")
                    return
                }
                for chat in chats { try connection.execute(again + " WHERE chat = ? AND done = 1", chat) }
            }
        }
    }

    /// Whether the core talks through a proxy, and its relays.
    func noteNetwork() async throws(ChatError) {
        do throws(OfficialCoreError) {
            if case .network(let network) = try await ask(.network) {
                state.withLock { $0.hidesAddress = network.hidesAddress }
            }
            if case .relays(let relays) = try await ask(.relays(user: profile.id)) {
                trust.follow(configured: relays)
            }
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            log.information("the core does not tell its relays: \(error.sentence)")
        }
    }

    /// Rows of numbers; nil when the core answers no questions about its database.
    func select(_ statement: String) async throws(ChatError) -> [[Int64]]? {
        do throws(OfficialCoreError) {
            let response = try await transport.request(
                .query(statement), lane: .background, timeout: .seconds(60))
            guard case .rows(let rows) = response else { return nil }
            return rows.dropFirst().map { row in
                row.split(separator: "|", omittingEmptySubsequences: false).map { Int64($0) ?? 0 }
            }
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    private func background(_ command: APICommand) async throws(ChatError) -> APIResponse {
        do throws(OfficialCoreError) {
            return try await transport.request(command, lane: .background, timeout: .seconds(60))
        } catch {
            throw error.chatError
        }
    }
}
