/// One line of what is to be sent, in the order of its numbers: nobody goes before those in front of him. Pure.
///
/// | event | a place is |
/// |---|---|
/// | enter | waiting, at its number |
/// | ready | ready, at its number |
/// | leave | gone |
/// | go | gone, and all that went with it: those at the head that are ready |
struct SendingLine<Element: Hashable & Sendable>: Sendable {
    private struct Place {
        var element: Element
        var isReady: Bool
    }

    private var places: [Int64: Place] = [:]
    private var numbers: [Element: Int64] = [:]
    /// Ascending, from `head` on; numbers that have no place any more are passed over.
    private var order: [Int64] = []
    private var head = 0

    var isEmpty: Bool { places.isEmpty }

    /// It will be ready, or leave. Who is in line already gets the new number.
    mutating func enter(_ element: Element, at number: Int64) { put(element, at: number, isReady: false) }

    mutating func ready(_ element: Element, at number: Int64) { put(element, at: number, isReady: true) }

    mutating func leave(_ element: Element) {
        if let number = numbers.removeValue(forKey: element) { places[number] = nil }
        skipGone()
    }

    /// Whether somebody may go.
    var canGo: Bool { head < order.count && places[order[head]]?.isReady == true }

    /// Takes out who may go, one after the other from the head, as long as `accepts` says so.
    mutating func go(while accepts: (Element) -> Bool) -> [Element] {
        var gone: [Element] = []
        while canGo, let element = places[order[head]]?.element, accepts(element) {
            gone.append(element)
            leave(element)
        }
        return gone
    }

    private mutating func put(_ element: Element, at number: Int64, isReady: Bool) {
        if let old = numbers[element], old != number { leave(element) }
        numbers[element] = number
        if places.updateValue(Place(element: element, isReady: isReady), forKey: number) != nil { return }
        let end = order.count
        let place = (order[head...].lastIndex { $0 <= number } ?? head - 1) + 1
        // One that left and comes back finds its number there.
        if place > head, order[place - 1] == number { return }
        if place == end { order.append(number) } else { order.insert(number, at: place) }
    }

    private mutating func skipGone() {
        while head < order.count, places[order[head]] == nil { head += 1 }
        if head > 64, head * 2 > order.count {
            order.removeFirst(head)
            head = 0
        }
    }
}
