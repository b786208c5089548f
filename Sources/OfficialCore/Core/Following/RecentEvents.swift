import Base
import ChatCore

/// When the core last told of an item: an event or an answer of just now is not overruled by a page that was asked
/// for before.
final class RecentEvents: Sendable {
    private let told = Lock<[ItemID: ContinuousClock.Instant]>([:])

    /// So many are kept, and longer ones only as long as a page may be under way.
    private static let capacity = 4096
    private static let lifetime = Duration.seconds(60)

    func note(_ items: [ItemID]) {
        let now = ContinuousClock.now
        told.withLock { told in
            for item in items { told[item] = now }
            if told.count > Self.capacity { told = told.filter { now - $0.value < Self.lifetime } }
        }
    }

    /// Whether an item was told of since a page was asked for: then the page may be older.
    func contains(_ item: ItemID, since start: ContinuousClock.Instant) -> Bool {
        told.withLock { $0[item].map { $0 >= start } ?? false }
    }
}
