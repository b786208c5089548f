/// Elements of many members of many groups, taken out in turns: a group after the other, and within a group a member after
/// the other, each one element at a time. The elements of one member keep their order.
///
/// A member that had nothing waiting comes before those that always have something, once (flow queueing as in RFC 8290): after
/// that it stands behind all others that wait, so no member gains by having little at a time. The same holds for groups.
public struct TurnQueue<Group: Hashable & Sendable, Member: Hashable & Sendable, Element: Sendable>: Sendable
{
    private struct Members: Sendable {
        var turns = Turns<Member>()
        var elements: [Member: ElementQueue<Element>] = [:]
        var count = 0
    }

    private var turns = Turns<Group>()
    private var groups: [Group: Members] = [:]
    /// Elements that wait.
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    public mutating func append(_ element: Element, of member: Member, in group: Group) {
        turns.insert(group)
        groups[group, default: Members()].turns.insert(member)
        groups[group, default: Members()].elements[member, default: ElementQueue()].append(element)
        groups[group]?.count += 1
        count += 1
    }

    /// Takes the element whose turn it is; nil when none waits.
    public mutating func next() -> Element? {
        while let group = turns.next() {
            guard var members = groups.removeValue(forKey: group), members.count > 0 else {
                turns.leave(group)
                continue
            }
            let element = Self.next(&members)
            groups[group] = members
            if element != nil { count -= 1 }
            return element
        }
        return nil
    }

    private static func next(_ members: inout Members) -> Element? {
        while let member = members.turns.next() {
            guard let element = members.elements[member]?.popFirst() else {
                members.elements[member] = nil
                members.turns.leave(member)
                continue
            }
            members.count -= 1
            return element
        }
        return nil
    }
}

/// Whose turn it is. Newcomers come first, and then stand behind all others.
private struct Turns<Key: Hashable & Sendable>: Sendable {
    private var newcomers = ElementQueue<Key>()
    private var others = ElementQueue<Key>()
    private var present: Set<Key> = []

    mutating func insert(_ key: Key) {
        if present.insert(key).inserted { newcomers.append(key) }
    }

    /// The next one, which goes to the end. It stays until `leave`.
    mutating func next() -> Key? {
        guard let key = newcomers.popFirst() ?? others.popFirst() else { return nil }
        others.append(key)
        return key
    }

    /// The one that `next` gave last has nothing and is forgotten.
    mutating func leave(_ key: Key) {
        others.removeLast()
        present.remove(key)
    }
}

/// First in, first out, each in constant time.
private struct ElementQueue<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var start = 0

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        defer {
            elements[start] = nil
            start += 1
            if start == elements.count {
                elements.removeAll(keepingCapacity: start < 64)
                start = 0
            } else if start >= 64, start * 2 >= elements.count {
                elements.removeFirst(start)
                start = 0
            }
        }
        return elements[start]
    }

    mutating func removeLast() { elements.removeLast() }
}
