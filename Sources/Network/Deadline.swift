/// A point in time by which something must have happened, on the clock that never jumps.
struct Deadline: Sendable, Comparable {
    private let instant: ContinuousClock.Instant

    init(after duration: Duration) { instant = ContinuousClock.now.advanced(by: duration) }
    private init(_ instant: ContinuousClock.Instant) { self.instant = instant }

    var hasPassed: Bool { ContinuousClock.now >= instant }

    /// What poll(2) is to wait at most: rounded up, so that a wake-up is never before the deadline.
    var milliseconds: Int32 {
        let left = ContinuousClock.now.duration(to: instant)
        guard left > .zero else { return 0 }
        let whole = left.components.seconds &* 1000 &+ left.components.attoseconds / 1_000_000_000_000_000
        return Int32(clamping: whole &+ 1)
    }

    /// The deadline of one of `count` attempts that share the time until this one.
    func share(of count: Int) -> Deadline {
        let now = ContinuousClock.now
        return Deadline(now.advanced(by: now.duration(to: instant) / max(count, 1)))
    }

    static func < (left: Deadline, right: Deadline) -> Bool { left.instant < right.instant }
}
