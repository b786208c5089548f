/// The times of pings to a silent peer, of silence and of giving up, without input and output. The driver supplies the
/// time.
struct Liveness {
    struct Limits: Sendable {
        /// The silence before the first ping, and between two pings: at least 1 s.
        var question: Duration
        /// The silence after which the peer counts as silent; longer than a ping takes.
        var silence: Duration
        /// The silence after which the connection is closed.
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

    /// - Parameter heard: A count that grows with everything that the peer sends.
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

    /// The time of the next possible step.
    func next(now: ContinuousClock.Instant) -> Duration {
        let silence = lastHeard.duration(to: now)
        let ask = limits.question - (lastAsked ?? lastHeard).duration(to: now)
        let silent = isSilent ? limits.end - silence : limits.silence - silence
        return max(.zero, min(ask, silent, limits.end - silence))
    }
}
