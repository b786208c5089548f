/// When a silent peer is asked for a sign of life, when it counts as silent, and when it is given up. A pure machine:
/// whoever drives it tells the time.
struct Liveness {
    struct Limits: Sendable {
        /// Silence after which the peer is asked, and between two questions: 1 s at least.
        var question: Duration
        /// Silence after which it counts as silent: longer than a question takes.
        var silence: Duration
        /// Silence after which the connection is given up.
        var end: Duration
    }

    enum Step: Equatable {
        case nothing
        case ask
        case giveUp
    }

    private let limits: Limits
    private var heard: UInt64
    private var lastHeard: ContinuousClock.Instant
    private var lastAsked: ContinuousClock.Instant?
    private(set) var isSilent = false

    init(limits: Limits, now: ContinuousClock.Instant) {
        self.limits = limits
        heard = 0
        lastHeard = now
    }

    /// - Parameter heard: a count that has grown where the peer sent anything.
    mutating func step(heard: UInt64, now: ContinuousClock.Instant) -> Step {
        if heard != self.heard {
            self.heard = heard
            lastHeard = now
            lastAsked = nil
        }
        let silence = lastHeard.duration(to: now)
        isSilent = silence >= limits.silence
        if silence >= limits.end { return .giveUp }
        guard (lastAsked ?? lastHeard).duration(to: now) >= limits.question else { return .nothing }
        lastAsked = now
        return .ask
    }

    /// When the next step can do something.
    func next(now: ContinuousClock.Instant) -> Duration {
        let silence = lastHeard.duration(to: now)
        let ask = limits.question - (lastAsked ?? lastHeard).duration(to: now)
        let silent = isSilent ? limits.end - silence : limits.silence - silence
        return max(.zero, min(ask, silent, limits.end - silence))
    }
}
