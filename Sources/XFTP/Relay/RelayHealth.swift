import Base

/// The recent behaviour of a relay, used to order a chunk's relays.
final class RelayHealth: Sendable {
    private struct State {
        var lastBytes: ContinuousClock.Instant?
        var failedAt: ContinuousClock.Instant?
        var shortestRoundTrip: Duration?
    }

    private let memory: Duration
    private let state = Lock(State())

    /// - Parameter memory: The time for which a failure counts.
    init(memory: Duration) { self.memory = memory }

    /// Whether the relay failed recently, so that other relays are asked first.
    var isAvoided: Bool {
        guard let failedAt = state.withLock({ $0.failedAt }) else { return false }
        return .now - failedAt < memory
    }

    /// Records a successful transfer.
    func succeeded() { state.withLock { $0.failedAt = nil } }

    /// Records a failed connection or silence.
    func failed() { state.withLock { $0.failedAt = .now } }

    /// Records received bytes of any chunk.
    func sentBytes() { state.withLock { $0.lastBytes = .now } }

    /// Records the response time of a request that was alone on its connection.
    func answered(after time: Duration) {
        state.withLock { $0.shortestRoundTrip = min($0.shortestRoundTrip ?? time, time) }
    }

    /// Returns the shortest round trip if it exceeds `limit`.
    func roundTrip(above limit: Duration) -> Duration? {
        state.withLock { $0.shortestRoundTrip.flatMap { $0 > limit ? $0 : nil } }
    }

    /// Returns the time without bytes in any transfer, since `start`. A request queued behind others on a slow network
    /// therefore does not count as silence.
    func silence(since start: ContinuousClock.Instant) -> Duration {
        let last = state.withLock { $0.lastBytes }
        return .now - max(start, last ?? start)
    }
}
