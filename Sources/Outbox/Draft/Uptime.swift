import Base

/// Total running time of the outbox's processes, the age of untouched drafts. Clock changes, and time when
/// the machine slept, was off or had no mount, do not count. Thread-safe; no I/O.
final class Uptime: Sendable {
    private struct State {
        var seconds: Int64
        /// Less than a second.
        var remainder = Duration.zero
        var last: Duration
    }

    private let state: Lock<State>
    private let clock: any OutboxClock

    /// Interval of updates and maximum of one update; a longer step is a sleep.
    static let interval = Duration.seconds(3600)

    /// - Parameter seconds: Running time of earlier processes.
    init(after seconds: Int64, clock: any OutboxClock) {
        self.clock = clock
        state = Lock(State(seconds: seconds, last: clock.now()))
    }

    /// As of the last update.
    var seconds: Int64 { state.withLock { $0.seconds } }

    /// Adds the time since the last update and returns the sum.
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
