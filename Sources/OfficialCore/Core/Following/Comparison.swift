import Base
import ChatCore
import CoreServices

/// Compares the index with the core's database: finds deleted items, and parts of groups that no list
/// contains.
final class Comparison: Sendable {
    /// State from one comparison to the next.
    private struct State {
        /// Number of changed rows of the core's database connection at the last comparison.
        var changes: Int64 = 0
        /// Number of files in the core when the chat was last walked because of a difference.
        var counts: [String: Int64] = [:]
        /// Chats skipped by comparisons while their history was being read.
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

    /// Repeats unfinished walks after their end, because they missed deletions behind their position.
    func doubtUnfinishedWalks() async throws(ChatError) {
        try await blocking.run { [index] in try index.write { try $0.walks.doubtUnfinished() } }
    }

    /// Finds conversations of single members with moderators, which no list of chats contains.
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

    /// Returns true if the core wrote to its database since the last comparison: `total_changes()` counts the
    /// rows changed by the core's one connection. Returns false if the core does not support queries.
    func hasChanged() async throws(ChatError) -> Bool {
        let answer = try await connection.numbers("SELECT total_changes()")
        guard let changes = answer?.first?.first else { return false }
        return state.withLock { state in
            defer { state.changes = changes }
            return state.changes != changes
        }
    }

    /// After a failed comparison, counts the core's earlier writes again.
    func noteFailure() { state.withLock { $0.changes = -1 } }

    /// True if chats were skipped.
    var hasLeftOut: Bool { state.withLock { !$0.leftOut.isEmpty } }

    /// Maximum number of newest files in one comparison, over all chats, so that it takes the core only
    /// milliseconds.
    private static let maxCompared = 1000

    /// Compares the number of files of each chat. Walks a chat again if the numbers differ, for example after
    /// a deletion whose event went to another client. A remaining difference causes no further walk until the
    /// core's number changes. Chats whose history is being read are skipped, and compared later.
    func compareCounts(_ scope: ReconciliationScope) async throws(ChatError) {
        let first =
            scope == .newest
            ? try await index.reading { try $0.items.oldest(ofNewest: Self.maxCompared) } : 0
        guard let theirs = try await coreCounts(from: first) else {
            if scope == .leftOut { return state.withLock { $0.leftOut = [] } }
            // Without queries, walk everything again; the core decides whether a description has arrived.
            return try await blocking.run { [index] in
                try index.write { try $0.items.takeAllForDescribed() }
                try index.write { try $0.walks.repeatAll() }
            }
        }
        let (ours, unread) = try await index.reading { tables in
            (
                try tables.chats.counts(from: first),
                Set(try tables.walks.unfinished().map(\.reference.chat.description))
            )
        }
        let different = state.withLock { state -> [String] in
            var different: [String] = []
            let leftOut = state.leftOut
            // Chats that are still or permanently unreadable are skipped again.
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

    /// Returns nil if the core does not support queries.
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
