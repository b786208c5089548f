import ChatCore
import Store

/// What is remembered from one comparison to the next.
struct Compared: Sendable {
    /// Rows that the core's database connection had changed at the last look.
    var changes: Int64 = 0
    /// Files that the core had of a chat when the chat was last walked through because of their number.
    var counts: [String: Int64] = [:]
    /// In how many looks an upload was complete for one database of the core and not for the other.
    var complete: [FileID: Int] = [:]
}

/// The index and the core's database, compared as wholes: what was deleted, and parts that no list names.
extension OfficialCore {
    /// What was deleted behind the place of a walk while nobody listened, that walk does not meet any
    /// more: it is begun once more when it has ended.
    func doubtUnfinishedWalks() async throws(ChatError) {
        try await work { [self] in
            _ = try index.transaction {
                try $0.execute("UPDATE walk SET again = 1 WHERE done = 0 AND frontier IS NOT NULL")
            }
        }
    }

    /// Conversations of single members with the moderators, which no list of chats names.
    func lookForParts() async throws(ChatError) {
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

    /// Whether the core wrote to its database since the last look: `total_changes()` counts the rows that
    /// its one connection changed. A core that does not answer is not asked for more.
    func hasChanged() async throws(ChatError) -> Bool {
        guard let changes = try await select("SELECT total_changes()")?.first?.first else { return false }
        return state.withLock { state in
            defer { state.compared.changes = changes }
            return state.compared.changes != changes
        }
    }

    /// How many files a look by the clock compares, the newest of all chats: so it costs the core some
    /// milliseconds, however long the history is.
    private static let newestCompared = 1000

    /// How many files each chat has, there and here. Where the numbers differ the whole chat is walked
    /// through again: somebody else deleted a message, and only they were told. A difference that such a
    /// walk left is not walked for again before the core's number changes.
    func compareCounts(_ look: Look) async throws(ChatError) {
        let first =
            look == .whole
            ? 0
            : try await work { [self] in
                try index.read { connection in
                    try connection.first(
                        "SELECT id FROM item ORDER BY id DESC LIMIT 1 OFFSET ?", Self.newestCompared
                    ) { $0.integer(0) }
                } ?? 0
            }
        let rows = try await select(
            "SELECT coalesce(i.contact_id, 0), coalesce(i.group_id, 0), coalesce(i.note_folder_id, 0), "
                + "count(*) FROM files f JOIN chat_items i ON i.chat_item_id = f.chat_item_id "
                + "WHERE f.chat_item_id >= \(first) AND i.user_id = \(profile.id) AND i.item_deleted = 0 "
                + "GROUP BY 1, 2, 3")
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
        let ours = try await work { [self] in
            try index.read { connection in
                try connection.query(
                    """
                    SELECT chat.chat, (SELECT count(*) FROM item WHERE item.chat = chat.chat AND item.id >= ?)
                    FROM chat
                    WHERE NOT EXISTS (SELECT 1 FROM walk WHERE walk.chat = chat.chat AND done = 0)
                    """, first
                ) { ($0.text(0), $0.integer(1)) }
            }
        }
        let different = state.withLock { state -> [String] in
            var different: [String] = []
            for (chat, count) in ours {
                let wanted = theirs[chat, default: 0]
                if count == wanted {
                    state.compared.counts[chat] = nil
                } else if look == .whole || state.compared.counts[chat] != wanted {
                    state.compared.counts[chat] = wanted
                    different.append(chat)
                }
            }
            return different
        }
        if !different.isEmpty { try await walkAgain(different) }
    }

    /// - Parameter chats: nil for all.
    func walkAgain(_ chats: [String]?) async throws(ChatError) {
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
}
