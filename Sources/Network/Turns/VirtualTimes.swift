/// Decides which of many keys with work is next: the one whose next turn would end first in virtual time (weighted fair
/// queueing with equal weights).
///
/// The virtual time of a key grows with the cost of its turns, and its next turn is expected to cost as much as the last
/// one. A new key starts at the time of the latest turn and is expected to cost nothing, so it comes first, once, and
/// absence earns nothing. A key without work is forgotten only once others have caught up with it, so leaving does not
/// pay. Keys that end at the same time take turns in order, new ones first. Each operation is O(log n).
struct VirtualTimes<Key: Hashable & Sendable, Work: Sendable>: Sendable {
    private struct Place: Sendable {
        var work: Work
        var time: UInt64
        /// The cost of the last turn.
        var cost: UInt64 = 0
        /// Turns that have not ended.
        var turns: UInt64 = 0
        /// The number of its entry; others are obsolete. nil: none.
        var entry: UInt64?

        /// When its next turn would end, after those under way.
        var end: UInt64 { time + cost * (turns + 1) }
    }

    private struct Entry: Sendable {
        let end: UInt64
        let isNew: Bool
        let number: UInt64
        let key: Key

        static func < (one: Entry, other: Entry) -> Bool {
            if one.end != other.end { return one.end < other.end }
            return one.isNew == other.isNew ? one.number < other.number : one.isNew
        }
    }

    private var places: [Key: Place] = [:]
    /// A binary heap.
    private var entries: [Entry] = []
    /// The time at which the latest turn began.
    private var now: UInt64 = 0
    private var number: UInt64 = 0

    /// Adds work for a key.
    ///
    /// - Parameter initial: the work of a key that has none.
    mutating func add(for key: Key, initial: @autoclosure () -> Work, _ change: (inout Work) -> Void) {
        if let index = places.index(forKey: key) {
            change(&places.values[index].work)
            if places.values[index].entry == nil { push(key, index, isNew: false) }
        } else {
            var work = initial()
            change(&work)
            places[key] = Place(work: work, time: now)
            if let index = places.index(forKey: key) { push(key, index, isNew: true) }
        }
    }

    /// Begins a turn of the next key from whose work `take` gets a result, or returns nil if there is none.
    mutating func begin<Result>(_ take: (inout Work) -> Result?) -> (key: Key, result: Result)? {
        while let entry = pop() {
            guard let index = places.index(forKey: entry.key), places.values[index].entry == entry.number
            else { continue }
            places.values[index].entry = nil
            if let result = take(&places.values[index].work) {
                now = max(now, places.values[index].time)
                places.values[index].turns += 1
                push(entry.key, index, isNew: false)
                return (entry.key, result)
            }
            if places.values[index].turns == 0 { places.remove(at: index) }
        }
        return nil
    }

    /// Ends a turn and charges its cost, at least 1.
    ///
    /// - Parameter change: ends turns within the work of the key.
    mutating func end(_ key: Key, cost: UInt64, _ change: (inout Work) -> Void = { _ in }) {
        guard let index = places.index(forKey: key) else { return }
        change(&places.values[index].work)
        places.values[index].cost = max(1, cost)
        places.values[index].time += max(1, cost)
        places.values[index].turns -= 1
        push(key, index, isNew: false)
    }

    // MARK: The heap

    private mutating func push(_ key: Key, _ index: Dictionary<Key, Place>.Index, isNew: Bool) {
        number += 1
        places.values[index].time = max(places.values[index].time, now)
        places.values[index].entry = number
        entries.append(Entry(end: places.values[index].end, isNew: isNew, number: number, key: key))
        var child = entries.count - 1
        while child > 0, entries[child] < entries[(child - 1) / 2] {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() -> Entry? {
        guard let last = entries.popLast() else { return nil }
        guard let first = entries.first else { return last }
        entries[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child] < entries[least] {
                least = child
            }
            guard least != parent else { return first }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
