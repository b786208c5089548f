import Base

/// How long the processes of this outbox have run, all together: what ages a draft that is left alone. A clock that
/// is set does not move it, and time in which the machine slept, was off or had nothing mounted does not count.
final class SeenTime: Sendable {
    private struct State {
        var seconds: Int64
        var rest = Duration.zero
        var last: Duration
    }

    private let state: Lock<State>
    private let clock: any OutboxClock

    /// Counted up this often, which is also the most that counts at once: a longer step is a sleep.
    static let step = Duration.seconds(3600)

    /// - Parameter seconds: what earlier processes saw.
    init(after seconds: Int64, clock: any OutboxClock) {
        self.clock = clock
        state = Lock(State(seconds: seconds, last: clock.now()))
    }

    /// As it was counted up last.
    var seconds: Int64 { state.withLock { $0.seconds } }

    /// Counts what has passed since the last time.
    func countUp() -> Int64 {
        let now = clock.now()
        return state.withLock { state in
            let passed = min(max(now - state.last, .zero), Self.step) + state.rest
            state.last = now
            state.seconds += passed.components.seconds
            state.rest = passed - .seconds(passed.components.seconds)
            return state.seconds
        }
    }
}
