import Base

/// The times of connection attempts to one server, without input and output. Times come from a monotonic clock.
///
/// | from | on | to |
/// |---|---|---|
///
///  ready
///  connected
///  ready, and the connection decides
///
///
///  ready, waiting
///  failed, or ended early
///  waiting, twice as long as before
///
/// | waiting | time, the network changed | ready |
///
///  any
///  ended after a longer time
///  waiting, for the first delay
///
struct ConnectionSchedule {
    private let retry: RetryPolicy
    private var failures = 0
    private var failedAt = Duration.zero
    /// The end of the delay for listeners.
    private var rest = Duration.zero
    private var connectedAt: Duration?
    private var wasGood = false

    /// The duration after which a connection counts as stable.
    static let goodAge = Duration.seconds(30)

    init(_ retry: RetryPolicy) { self.retry = retry }

    mutating func connected(now: Duration) { connectedAt = now }

    /// Notes a failed or ended connection.
    mutating func failed(now: Duration) {
        wasGood = connectedAt.map { now - $0 >= Self.goodAge } ?? wasGood
        if connectedAt != nil, wasGood { failures = 0 }
        connectedAt = nil
        failures += 1
        failedAt = now
        rest = retry.delay(beforeTry: failures + 1) ?? retry.maxDelay
    }

    /// Ends the delay, because the cause of failures may be gone.
    mutating func networkChanged() {
        failures = 0
        rest = .zero
    }

    /// Returns the time of the next attempt.
    /// - Parameter isAsked: Whether a request waits, not only a subscription.
    func nextTry(isAsked: Bool) -> Duration {
        // A stable connection ended once, so a new one will probably work.
        guard failures > (isAsked && wasGood ? 1 : 0) else { return .zero }
        return failedAt + (isAsked ? min(rest, retry.first) : rest)
    }
}
