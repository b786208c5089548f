/// A point in time on a monotonic clock by which an event must have happened.
struct Deadline: Sendable, Comparable {
    private let instant: ContinuousClock.Instant

    init(after duration: Duration) { instant = ContinuousClock.now.advanced(by: duration) }
    private init(_ instant: ContinuousClock.Instant) { self.instant = instant }

    var hasPassed: Bool { ContinuousClock.now >= instant }

    /// The timeout for poll(2), rounded up, so that a wake-up is never early.
    var milliseconds: Int32 {
        let left = ContinuousClock.now.duration(to: instant)
        guard left > .zero else { return 0 }
        let whole = left.components.seconds &* 1000 &+ left.components.attoseconds / 1_000_000_000_000_000
        return Int32(clamping: whole &+ 1)
    }

    /// Returns the deadline of one of `count` attempts that share the remaining time.
    func share(of count: Int) -> Deadline {
        let now = ContinuousClock.now
        return Deadline(now.advanced(by: now.duration(to: instant) / max(count, 1)))
    }

    static func < (left: Deadline, right: Deadline) -> Bool { left.instant < right.instant }
}
