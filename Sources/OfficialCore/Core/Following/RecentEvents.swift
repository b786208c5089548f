import Base
import ChatCore

/// When the core last told of an item or a chat: an event or an answer of just now is not overruled by a page or a list
/// that was asked for before.
final class RecentEvents: Sendable {
    private let items = Lock(Moments<ItemID>())
    private let chats = Lock(Moments<ChatReference>())

    func note(_ items: [ItemID]) { self.items.withLock { $0.note(items) } }

    func note(_ chat: ChatReference) { chats.withLock { $0.note([chat]) } }

    /// Whether an item was told of since a page was asked for: then the page may be older.
    func contains(_ item: ItemID, since start: ContinuousClock.Instant) -> Bool {
        items.withLock { $0.contains(item, since: start) }
    }

    /// Whether a chat was told of, or changed from here, since the list of chats was asked for.
    func contains(_ chat: ChatReference, since start: ContinuousClock.Instant) -> Bool {
        chats.withLock { $0.contains(chat, since: start) }
    }
}

private struct Moments<Key: Hashable & Sendable>: Sendable {
    private var told: [Key: ContinuousClock.Instant] = [:]
    /// With more of them the old ones go. Twice what was left the last time, so that each is looked at about once,
    /// however many are young.
    private var limit = Self.capacity

    /// So many are kept, and longer ones only as long as an answer may be under way.
    private static var capacity: Int { 4096 }
    private static var lifetime: Duration { .seconds(60) }

    mutating func note(_ keys: [Key]) {
        let now = ContinuousClock.now
        for key in keys { told[key] = now }
        guard told.count > limit else { return }
        told = told.filter { now - $0.value < Self.lifetime }
        limit = max(Self.capacity, told.count * 2)
    }

    func contains(_ key: Key, since start: ContinuousClock.Instant) -> Bool {
        told[key].map { $0 >= start } ?? false
    }
}
