import Base

/// How a relay is doing, as its last transfers showed: by this the relays of a chunk are chosen.
final class RelayHealth: Sendable {
    private struct State {
        var lastBytes: ContinuousClock.Instant?
        var failedAt: ContinuousClock.Instant?
        var shortestRoundTrip: Duration?
    }

    private let memory: Duration
    private let state = Lock(State())

    /// - Parameter memory: how long a failure counts.
    init(memory: Duration) { self.memory = memory }

    /// It failed a moment ago: whoever can ask another one does.
    var isAvoided: Bool {
        guard let failedAt = state.withLock({ $0.failedAt }) else { return false }
        return .now - failedAt < memory
    }

    /// A transfer went well.
    func succeeded() { state.withLock { $0.failedAt = nil } }

    /// No connection, a broken one, or silence.
    func failed() { state.withLock { $0.failedAt = .now } }

    /// Bytes of some chunk came.
    func sentBytes() { state.withLock { $0.lastBytes = .now } }

    /// It answered a request that was alone on its connection.
    func answered(after time: Duration) {
        state.withLock { $0.shortestRoundTrip = min($0.shortestRoundTrip ?? time, time) }
    }

    /// The shortest, when it is longer than `limit`.
    func roundTrip(above limit: Duration) -> Duration? {
        state.withLock { $0.shortestRoundTrip.flatMap { $0 > limit ? $0 : nil } }
    }

    /// How long it has sent nothing at all, in no transfer, counted from `start` on. Requests that wait for
    /// their place behind others on a slow network are therefore no silence.
    func silence(since start: ContinuousClock.Instant) -> Duration {
        let last = state.withLock { $0.lastBytes }
        return .now - max(start, last ?? start)
    }
}
