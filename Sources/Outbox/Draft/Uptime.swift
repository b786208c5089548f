import Base

/// How long the processes of this outbox have run, all together: what ages a draft that is left alone. A clock that
/// is set does not move it, and time in which the machine slept, was off or had nothing mounted does not count.
/// Any thread, from memory.
final class Uptime: Sendable {
    private struct State {
        var seconds: Int64
        /// Less than a second.
        var remainder = Duration.zero
        var last: Duration
    }

    private let state: Lock<State>
    private let clock: any OutboxClock

    /// Counted up this often, which is also the most that counts at once: a longer step is a sleep.
    static let interval = Duration.seconds(3600)

    /// - Parameter seconds: how long earlier processes ran.
    init(after seconds: Int64, clock: any OutboxClock) {
        self.clock = clock
        state = Lock(State(seconds: seconds, last: clock.now()))
    }

    /// As it was counted up last.
    var seconds: Int64 { state.withLock { $0.seconds } }

    /// Counts what has passed since the last time, and answers the sum.
    func countUp() -> Int64 {
        let now = clock.now()
        return state.withLock { state in
            let passed = min(max(now - state.last, .zero), Self.interval) + state.remainder
            state.last = now
            state.seconds += passed.components.seconds
            state.remainder = passed - .seconds(passed.components.seconds)
            return state.seconds
        }
    }
}
