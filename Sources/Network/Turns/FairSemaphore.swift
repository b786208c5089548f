import Base

/// Admits a limited number of threads at once. Waiting threads enter in turns of their groups and members (`TurnQueue`),
/// charged by the time that each spends inside: a member with much to do delays a member with little by the rest of
/// one turn. It blocks, so only our own threads may use it.
public final class FairSemaphore<Group: Hashable & Sendable>: Sendable {
    /// A user of the semaphore, on one thread at a time.
    public final class Member: Sendable {
        fileprivate let group: Group
        fileprivate let called = Monitor<Turn?>(nil)

        public init(of group: Group) { self.group = group }
    }

    fileprivate typealias Queue = TurnQueue<Group, ObjectIdentifier, Member>
    fileprivate typealias Turn = Queue.Turn

    private struct State {
        var free: Int
        var waiting = Queue()
    }

    private let state: Lock<State>

    /// - Parameter count: The number of concurrent threads.
    public init(count: Int) { state = Lock(State(free: count)) }

    /// Runs `body` in this member's turn. Not recursive.
    /// - Throws: the errors of `body`.
    public func withTurn<Result, Failure: Error>(
        of member: Member, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let turn = enter(member)
        let begin = ContinuousClock.now
        defer { leave(turn, after: begin.duration(to: .now)) }
        return try body()
    }

    /// Returns the turn of a member that had to wait. Others are not charged: their turn delayed no thread.
    private func enter(_ member: Member) -> Turn? {
        let mayEnter = state.withLock { state in
            guard state.free == 0 else {
                state.free -= 1
                return true
            }
            state.waiting.append(member, of: ObjectIdentifier(member), in: member.group)
            return false
        }
        guard !mayEnter else { return nil }
        return member.called.wait { called in called.take() }
    }

    private func leave(_ turn: Turn?, after time: Duration) {
        let next: Turn? = state.withLock { state in
            let (seconds, attoseconds) = time.components
            if let turn {
                state.waiting.end(
                    turn, cost: UInt64(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)))
            }
            let next = state.waiting.begin()
            if next == nil { state.free += 1 }
            return next
        }
        next?.element.called.change { $0 = next }
    }

    /// The number of waiting members. For tests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }
}
