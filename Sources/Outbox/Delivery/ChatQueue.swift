/// Drafts to be sent in one chat, in the order of sequence numbers. No draft passes one in front of it. Pure.
///
/// | event | entry |
/// |---|---|
/// | reserve | pending, at its number |
/// | enqueue | ready, at its number |
/// | remove | removed |
/// | dequeue | removed, with the following ready entries |
struct ChatQueue<Element: Hashable & Sendable>: Sendable {
    private struct Entry {
        var element: Element
        var isReady: Bool
    }

    private var entries: [Int64: Entry] = [:]
    private var numbers: [Element: Int64] = [:]
    /// Ascending, from `head` on; numbers without an entry are skipped.
    private var order: [Int64] = []
    private var head = 0

    var isEmpty: Bool { entries.isEmpty }

    /// Adds an entry that becomes ready or is removed later. An existing entry gets the new number.
    mutating func reserve(_ element: Element, at number: Int64) { put(element, at: number, isReady: false) }

    mutating func enqueue(_ element: Element, at number: Int64) { put(element, at: number, isReady: true) }

    mutating func remove(_ element: Element) {
        if let number = numbers.removeValue(forKey: element) { entries[number] = nil }
        skipRemoved()
    }

    /// True if the entry at the head is ready.
    var hasReady: Bool { head < order.count && entries[order[head]]?.isReady == true }

    /// Removes and returns ready entries from the head while `accepts` returns true.
    mutating func dequeue(while accepts: (Element) -> Bool) -> [Element] {
        var taken: [Element] = []
        while hasReady, let element = entries[order[head]]?.element, accepts(element) {
            taken.append(element)
            remove(element)
        }
        return taken
    }

    private mutating func put(_ element: Element, at number: Int64, isReady: Bool) {
        if let old = numbers[element], old != number { remove(element) }
        numbers[element] = number
        if entries.updateValue(Entry(element: element, isReady: isReady), forKey: number) != nil { return }
        let end = order.count
        let place = (order[head...].lastIndex { $0 <= number } ?? head - 1) + 1
        // A removed entry that returns finds its number here.
        if place > head, order[place - 1] == number { return }
        if place == end { order.append(number) } else { order.insert(number, at: place) }
    }

    private mutating func skipRemoved() {
        while head < order.count, entries[order[head]] == nil { head += 1 }
        if head > 64, head * 2 > order.count {
            order.removeFirst(head)
            head = 0
        }
    }
}
