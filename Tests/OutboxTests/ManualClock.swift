import Base

@testable import Outbox

/// A clock that the test advances.
final class ManualClock: OutboxClock, WallClock {
    private struct State {
        var now = Duration.zero
        var calls: [(at: Duration, body: @Sendable () -> Void)] = []
    }

    private let state = Lock(State())
    /// Wall-clock time at the start.
    static let start = Timestamp(seconds: 1_700_000_000)

    func now() -> Duration { state.withLock { $0.now } }
    func now() -> Timestamp { Self.start.advanced(by: state.withLock { $0.now }) }

    func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.calls.append(($0.now + delay, body)) }
    }

    /// Advances the time, stopping at each timer on the way.
    func advance(by duration: Duration) {
        let end = state.withLock { $0.now } + duration
        while true {
            let next = state.withLock { state in
                let due = state.calls.indices.filter { state.calls[$0].at <= end }
                guard let first = due.min(by: { state.calls[$0].at < state.calls[$1].at }) else {
                    state.now = end
                    return nil as (@Sendable () -> Void)?
                }
                let call = state.calls.remove(at: first)
                state.now = max(state.now, call.at)
                return call.body
            }
            guard let next else { return }
            next()
        }
    }
}
