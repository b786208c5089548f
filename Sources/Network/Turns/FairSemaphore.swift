import Base

/// Lets so many threads at once do something, and those that wait in turns of their members and groups (`TurnQueue`): a member
/// with much to do delays no other by more than one turn each. For threads of our own only, since it blocks.
public final class FairSemaphore<Group: Hashable & Sendable>: Sendable {
    /// One who comes again and again, from one thread at a time.
    public final class Member: Sendable {
        fileprivate let group: Group
        fileprivate let isCalled = Monitor(false)

        public init(of group: Group) { self.group = group }
    }

    private struct State {
        var free: Int
        var waiting = TurnQueue<Group, ObjectIdentifier, Member>()
    }

    private let state: Lock<State>

    /// - Parameter count: threads at once.
    public init(count: Int) { state = Lock(State(free: count)) }

    /// Runs `body` in this member's turn. Not recursive.
    /// - Throws: what `body` throws.
    public func withTurn<Result, Failure: Error>(
        of member: Member, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        enter(member)
        defer { leave() }
        return try body()
    }

    private func enter(_ member: Member) {
        let mayGoOn = state.withLock { state in
            guard state.free == 0 else {
                state.free -= 1
                return true
            }
            state.waiting.append(member, of: ObjectIdentifier(member), in: member.group)
            return false
        }
        guard !mayGoOn else { return }
        member.isCalled.wait { isCalled in
            defer { isCalled = false }
            return isCalled ? true : nil
        }
    }

    private func leave() {
        let next = state.withLock { state in
            let next = state.waiting.next()
            if next == nil { state.free += 1 }
            return next
        }
        next?.isCalled.change { $0 = true }
    }

    /// Members that wait. For tests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }
}
