import Base
import ChatCore
import CoreServices

/// The index and the core's database, compared as wholes: what was deleted, and parts that no list names.
final class Comparison: Sendable {
    /// What is remembered from one comparison to the next.
    private struct State {
        /// Rows that the core's database connection had changed at the last comparison.
        var changes: Int64 = 0
        /// Files that the core had of a chat when the chat was last walked through because of their number.
        var counts: [String: Int64] = [:]
        /// Chats that comparisons left out because their history was being read.
        var leftOut: Set<String> = []
    }

    private let connection: CoreConnection
    private let index: IndexStore
    private let profile: Int64
    private let state = Lock(State())

    init(_ connection: CoreConnection, _ index: IndexStore, of profile: Profile) {
        self.connection = connection
        self.index = index
        self.profile = profile.id
    }

    /// What was deleted behind the place of a walk while nobody listened, that walk does not meet any
    /// more: it is begun once more when it has ended.
    func doubtUnfinishedWalks() async throws(ChatError) {
        try await blocking.run { [index] in try index.write { try $0.walks.doubtUnfinished() } }
    }

    /// Conversations of single members with the moderators, which no list of chats names.
    func lookForParts() async throws(ChatError) {
        let rows = try await connection.numbers(
            "SELECT DISTINCT group_id, coalesce(group_scope_group_member_id, 0) FROM chat_items "
                + "WHERE user_id = \(profile) AND group_scope_tag IS NOT NULL")
        guard let rows else { return }
        try await blocking.run { [index] in
            try index.write { tables in
                for row in rows where row.count == 2 && row[0] > 0 {
                    let scope = APIGroupScope.support(member: row[1] > 0 ? row[1] : nil)
                    _ = try tables.walks.add(APIChatReference(.group(row[0]), scope: scope))
                }
            }
        }
    }

    /// Whether the core wrote to its database since the last comparison: `total_changes()` counts the rows that
    /// its one connection changed. A core that does not answer is not asked for more.
    func hasChanged() async throws(ChatError) -> Bool {
        let answer = try await connection.numbers("SELECT total_changes()")
        guard let changes = answer?.first?.first else { return false }
        return state.withLock { state in
            defer { state.changes = changes }
            return state.changes != changes
        }
    }

    /// A comparison did not come to its end: what the core wrote before it counts once more.
    func noteFailure() { state.withLock { $0.changes = -1 } }

    /// Whether there are chats that were left out.
    var hasLeftOut: Bool { state.withLock { !$0.leftOut.isEmpty } }

    /// How many files a comparison of the newest takes, of all chats: so it costs the core some
    /// milliseconds, however long the history is.
    private static let maxCompared = 1000

    /// How many files each chat has, there and here. Where the numbers differ the whole chat is walked
    /// through again: somebody else deleted a message, and only they were told. A difference that such a
    /// walk left is not walked for again before the core's number changes. A chat whose history is being read is left
    /// out: what was deleted behind the place of its walk shows when it is compared afterwards.
    func compareCounts(_ scope: ReconciliationScope) async throws(ChatError) {
        let first =
            scope == .newest
            ? try await blocking.run { [index] in
                try index.read { try $0.items.oldest(ofNewest: Self.maxCompared) }
            } : 0
        guard let theirs = try await coreCounts(from: first) else {
            if scope == .leftOut { return state.withLock { $0.leftOut = [] } }
            // A core that answers no such question: everything is walked through again, and whether a
            // description has arrived meanwhile is left to the core.
            return try await blocking.run { [index] in
                try index.write { try $0.items.takeAllForDescribed() }
                try index.write { try $0.walks.repeatAll() }
            }
        }
        let (ours, unread) = try await blocking.run { [index] in
            try index.read { tables in
                (
                    try tables.chats.counts(from: first),
                    Set(try tables.walks.unfinished().map(\.reference.chat.description))
                )
            }
        }
        let different = state.withLock { state -> [String] in
            var different: [String] = []
            let leftOut = state.leftOut
            // Those that are still being read, or cannot be, are left out by the next comparison again.
            state.leftOut = scope == .leftOut ? [] : leftOut.union(unread)
            for (chat, count) in ours where scope != .leftOut || leftOut.contains(chat) {
                let wanted = theirs[chat, default: 0]
                if count == wanted {
                    state.counts[chat] = nil
                } else if scope == .whole || state.counts[chat] != wanted {
                    state.counts[chat] = wanted
                    different.append(chat)
                }
            }
            return different
        }
        if !different.isEmpty { try await walkAgain(different) }
    }

    /// nil from a core that answers no questions about its database.
    private func coreCounts(from first: Int64) async throws(ChatError) -> [String: Int64]? {
        let rows = try await connection.numbers(
            "SELECT coalesce(i.contact_id, 0), coalesce(i.group_id, 0), coalesce(i.note_folder_id, 0), "
                + "count(*) FROM files f JOIN chat_items i ON i.chat_item_id = f.chat_item_id "
                + "WHERE f.chat_item_id >= \(first) AND i.user_id = \(profile) AND i.item_deleted = 0 "
                + "GROUP BY 1, 2, 3")
        guard let rows else { return nil }
        var counts: [String: Int64] = [:]
        for row in rows where row.count == 4 {
            let chat: ChatReference =
                row[0] > 0 ? .direct(row[0]) : row[1] > 0 ? .group(row[1]) : .notes(row[2])
            counts[chat.description, default: 0] += row[3]
        }
        return counts
    }

    func walkAgain(_ chats: [String]) async throws(ChatError) {
        try await blocking.run { [index] in
            try index.write { tables in for chat in chats { try tables.walks.repeatWalks(of: chat) } }
        }
    }
}
