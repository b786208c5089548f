import Base
import ChatCore
import CoreServices

/// Finds the changes on a phone since its last session without reading the whole history: the states of files that were
/// on their way or not received. Reads the whole history again once a week, for deleted messages. Any task.
final class HistoryReview: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore
    private let recent: RecentEvents
    private let clock: any WallClock

    /// Maximum number of files whose state is asked for one by one.
    private static let maxFiles = 200
    /// Files that relays dropped before that are not received any more.
    private static let grace = Duration.seconds(6 * 3600)
    private static let interval = Duration.seconds(7 * 24 * 3600)

    init(
        _ connection: CoreConnection, _ index: IndexStore, _ recent: RecentEvents,
        clock: any WallClock = SystemWallClock()
    ) {
        (self.connection, self.index, self.recent, self.clock) = (connection, index, recent, clock)
    }

    /// Asks for the present states, newest first. Skips items that the core refuses.
    /// - Throws: `.file(.unreachable)`, `.storage`.
    func run() async throws(ChatError) {
        let since = clock.now().advanced(by: .zero - FilePolicy.relayRetention - Self.grace)
        let files = try await index.reading { try $0.items.changing(since: since, limit: Self.maxFiles) }
        for (id, text) in files {
            guard let reference = APIChatReference(text: text) else { continue }
            try await look(at: id, in: reference)
        }
        try await repeatWhenOld()
    }

    private func look(at id: ItemID, in reference: APIChatReference) async throws(ChatError) {
        let began = ContinuousClock.now
        let item: APIItem?
        do throws(OfficialCoreError) {
            item = try await connection.item(id, in: reference)
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            return log.information("message not compared: error=\(error.sentence)")
        }
        try await index.committing { [recent] change in
            if recent.contains(id, since: began) { return }
            if let item { try change.take(item, .look) } else { try change.removeUntold([id]) }
        }
    }

    private func repeatWhenOld() async throws(ChatError) {
        let now = clock.now()
        try await blocking.run { [index] in
            try index.write { tables in
                if let last = try tables.review.last() {
                    guard last.advanced(by: Self.interval) <= now || now < last else { return }
                    try tables.walks.repeatAll()
                }
                try tables.review.note(now)
            }
        }
    }
}
