/// How long to wait before trying again what failed for a while: growing delays with jitter.
public struct RetryPolicy: Sendable {
    /// Delay before the second try, and the ceiling that doubling reaches.
    public var first: Duration
    public var maxDelay: Duration
    /// Tries in all, the first included. `Int.max` means for ever.
    public var tries: Int

    public init(first: Duration, maxDelay: Duration, tries: Int) {
        self.first = first
        self.maxDelay = maxDelay
        self.tries = tries
    }

    /// Delay before try number `next` (2 is the first repetition), or nil when there is none.
    /// Up to a quarter is taken off at random, so that many clients do not come back together.
    public func delay(beforeTry next: Int, jitter: Double = .random(in: 0...0.25)) -> Duration? {
        guard next <= tries else { return nil }
        let doublings = min(max(next - 2, 0), 20)
        let delay = min(first * (1 << doublings), maxDelay)
        return delay * (1 - jitter)
    }
}
