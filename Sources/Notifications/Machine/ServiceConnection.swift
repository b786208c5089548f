import Base

/// Whether there is a notification service, and when it is tried to reach one.
struct ServiceConnection: Sendable {
    typealias Instant = NotificationGroup.Instant

    enum State: Hashable, Sendable {
        /// - Parameters:
        ///   - tries: in vain, in a row.
        ///   - until: not tried again before that.
        case absent(tries: Int, until: Instant)
        case starting(since: Instant, tries: Int)
        /// The bus is there; it will tell of a service.
        case waiting
        case ready(showsMarkup: Bool, showsActions: Bool)
    }

    private(set) var state: State

    /// A bus that does not answer by then is given up.
    static let timeout = Duration.seconds(30)
    private static let retry = RetryPolicy(first: .seconds(1), maxDelay: .seconds(300), tries: .max)
    /// Something new is worth another try of a bus that was not there so long ago.
    private static let renewal = Duration.seconds(5)

    init(at now: Instant) { state = .absent(tries: 0, until: now) }

    var isReady: Bool { if case .ready = state { true } else { false } }

    /// There is something new to tell.
    mutating func renew(at now: Instant) {
        guard case .absent(let tries, let until) = state, tries > 0, until > now + Self.renewal
        else { return }
        state = .absent(tries: tries, until: now + Self.renewal)
    }

    /// Begins to connect when that is due, and ends what does not come about.
    /// - Parameters:
    ///   - isWanted: something is to be told now.
    ///   - tellsCount: there is a count to tell, for which a bus is tried once.
    mutating func step(at now: Instant, isWanted: Bool, tellsCount: Bool) -> NotificationEffect? {
        switch state {
        case .absent(let tries, let until):
            guard isWanted || tries == 0 && tellsCount, until <= now else { return nil }
            state = .starting(since: now, tries: tries)
            return .start
        case .starting(let since, let tries):
            guard since + Self.timeout <= now else { return nil }
            fail(tries: tries + 1, at: now)
            return .stop
        case .waiting, .ready: return nil
        }
    }

    /// When `step` has something to do, or something can be told.
    /// - Parameter time: when the first of what waits may be told.
    func wake(toTellAt time: Instant?, tellsCount: Bool) -> Instant? {
        switch state {
        case .absent(let tries, let until):
            if let time { return max(time, until) }
            return tries == 0 && tellsCount ? until : nil
        case .starting(let since, _): return since + Self.timeout
        case .waiting: return nil
        case .ready: return time
        }
    }

    mutating func ready(_ capabilities: [String]) {
        state = .ready(
            showsMarkup: capabilities.contains("body-markup"),
            showsActions: capabilities.contains("actions"))
    }

    mutating func noService() { state = .waiting }

    /// There is no bus, or none any more.
    mutating func ended(at now: Instant) {
        switch state {
        case .absent(let tries, _): fail(tries: max(1, tries), at: now)
        case .starting(_, let tries): fail(tries: tries + 1, at: now)
        case .waiting, .ready: fail(tries: 1, at: now)
        }
    }

    private mutating func fail(tries: Int, at now: Instant) {
        let delay = Self.retry.delay(beforeTry: tries + 1, jitter: 0) ?? Self.retry.maxDelay
        state = .absent(tries: tries, until: now + delay)
    }
}
