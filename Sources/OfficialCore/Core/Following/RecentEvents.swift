import Base
import ChatCore

/// Times of the latest events and answers of items and chats, so that an older page or list does not
/// overwrite them.
final class RecentEvents: Sendable {
    private let moments = Lock((items: Moments<ItemID>(), chats: Moments<ChatReference>()))

    func note(_ items: [ItemID]) { moments.withLock { $0.items.note(items) } }

    func note(_ chat: ChatReference) { moments.withLock { $0.chats.note([chat]) } }

    /// Returns true if the item had an event since a page was requested; the page may be older.
    func contains(_ item: ItemID, since start: ContinuousClock.Instant) -> Bool {
        moments.withLock { $0.items.contains(item, since: start) }
    }

    /// Returns true if the chat had an event, or was changed by a command, since the list of chats was
    /// requested.
    func contains(_ chat: ChatReference, since start: ContinuousClock.Instant) -> Bool {
        moments.withLock { $0.chats.contains(chat, since: start) }
    }
}

private struct Moments<Key: Hashable & Sendable>: Sendable {
    private var told: [Key: ContinuousClock.Instant] = [:]
    /// Above this number, expired entries are removed. Twice the number that was left, so that each entry is
    /// examined about once.
    private var limit = Self.capacity

    /// Minimum number of entries; above it, entries expire after the longest time of an answer.
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
