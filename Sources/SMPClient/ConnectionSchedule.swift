import Base

/// When the connection to one server is tried next: a machine without input and output. Time is that of a clock that
/// never goes back.
///
/// | from | on | to |
/// |---|---|---|
/// | ready | connected | ready; the connection is what counts now |
/// | ready, waiting | failed, or ended young | waiting, twice as long as the last time |
/// | waiting | time, the network changed | ready |
/// | any | ended after a good while | waiting, for the first delay |
struct ConnectionSchedule {
    private let retry: RetryPolicy
    private var failures = 0
    private var failedAt = Duration.zero
    /// Until when nobody who listens has it tried again.
    private var rest = Duration.zero
    private var connectedAt: Duration?
    private var wasGood = false

    /// A connection that lasted so long was a good one.
    static let goodAge = Duration.seconds(30)

    init(_ retry: RetryPolicy) { self.retry = retry }

    mutating func connected(now: Duration) { connectedAt = now }

    /// The connection could not be made, or has ended.
    mutating func failed(now: Duration) {
        wasGood = connectedAt.map { now - $0 >= Self.goodAge } ?? wasGood
        if connectedAt != nil, wasGood { failures = 0 }
        connectedAt = nil
        failures += 1
        failedAt = now
        rest = retry.delay(beforeTry: failures + 1) ?? retry.maxDelay
    }

    /// What did not work may work now.
    mutating func networkChanged() {
        failures = 0
        rest = .zero
    }

    /// When to try, at the earliest.
    /// - Parameter isAsked: somebody waits for an answer, and not only for messages.
    func nextTry(isAsked: Bool) -> Duration {
        // A connection that was good has broken off once: most likely it can be made again.
        guard failures > (isAsked && wasGood ? 1 : 0) else { return .zero }
        return failedAt + (isAsked ? min(rest, retry.first) : rest)
    }
}
