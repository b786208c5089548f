import Base

/// Elements of many members of many groups, taken out in turns. The group that used least is next, and within it the
/// member that used least (`VirtualTimes`). The elements of one member keep their order.
///
/// A member that had nothing waiting comes before those that always have something. A member whose turns cost little
/// comes more often, so that a light user does not wait for a round of heavy ones.
public struct TurnQueue<Group: Hashable & Sendable, Member: Hashable & Sendable, Element: Sendable>: Sendable
{
    /// An element whose turn has begun.
    public struct Turn: Sendable {
        public let element: Element
        let group: Group
        let member: Member
    }

    private var groups = VirtualTimes<Group, VirtualTimes<Member, ElementQueue<Element>>>()
    /// Elements that wait.
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    public mutating func append(_ element: Element, of member: Member, in group: Group) {
        groups.add(for: group, initial: VirtualTimes()) { members in
            members.add(for: member, initial: ElementQueue()) { $0.append(element) }
        }
        count += 1
    }

    /// Takes the next element, or returns nil if none waits. Every turn costs the same.
    public mutating func next() -> Element? {
        guard let turn = begin() else { return nil }
        end(turn, cost: 1)
        return turn.element
    }

    /// Begins the turn of the next element, or returns nil if none waits. `end` must follow.
    public mutating func begin() -> Turn? {
        let taken = groups.begin { members in members.begin { $0.popFirst() } }
        guard let (group, (member, element)) = taken else { return nil }
        count -= 1
        return Turn(element: element, group: group, member: member)
    }

    /// Ends a turn.
    ///
    /// - Parameter cost: in a unit that all turns share.
    public mutating func end(_ turn: Turn, cost: UInt64) {
        groups.end(turn.group, cost: cost) { $0.end(turn.member, cost: cost) }
    }
}
