/// The times of the ping to a silent peer, of silence and of giving up, without input and output. The driver
/// supplies the time. At most one ping is unanswered: a frozen peer would read several at once, and a phone
/// closes a connection for that.
struct Liveness {
    struct Limits: Sendable {
        /// The silence before the ping: at least 1 s.
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
    /// Whether a ping was sent during this silence.
    private var hasAsked = false
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
            hasAsked = false
        }
        let silence = lastHeard.duration(to: now)
        isSilent = silence >= limits.silence
        if silence >= limits.end { return .giveUp }
        guard !hasAsked, silence >= limits.question else { return .nothing }
        hasAsked = true
        return .ask
    }

    /// The time of the next possible step.
    func next(now: ContinuousClock.Instant) -> Duration {
        let silence = lastHeard.duration(to: now)
        let ask = (hasAsked ? limits.end : limits.question) - silence
        let silent = (isSilent ? limits.end : limits.silence) - silence
        return max(.zero, min(ask, silent, limits.end - silence))
    }
}
