/// What is to be sent in one chat, in the order of its sequence numbers: nothing goes before what is in front of it.
/// Pure.
///
/// | event | its entry is |
/// |---|---|
/// | reserve | pending, at its number |
/// | enqueue | ready, at its number |
/// | remove | gone |
/// | dequeue | gone, and all that went with it: those at the head that are ready |
struct ChatQueue<Element: Hashable & Sendable>: Sendable {
    private struct Entry {
        var element: Element
        var isReady: Bool
    }

    private var entries: [Int64: Entry] = [:]
    private var numbers: [Element: Int64] = [:]
    /// Ascending, from `head` on; numbers that have no entry any more are passed over.
    private var order: [Int64] = []
    private var head = 0

    var isEmpty: Bool { entries.isEmpty }

    /// It will be ready, or leave. What is in the queue already gets the new number.
    mutating func reserve(_ element: Element, at number: Int64) { put(element, at: number, isReady: false) }

    mutating func enqueue(_ element: Element, at number: Int64) { put(element, at: number, isReady: true) }

    mutating func remove(_ element: Element) {
        if let number = numbers.removeValue(forKey: element) { entries[number] = nil }
        skipRemoved()
    }

    /// Whether the head is ready.
    var hasReady: Bool { head < order.count && entries[order[head]]?.isReady == true }

    /// Takes out what is ready, one after the other from the head, as long as `accepts` says so.
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
        // One that left and comes back finds its number there.
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
