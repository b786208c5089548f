import Base

/// The state of the connection to the notification service, with its retries.
struct ServiceConnection: Sendable {
    typealias Instant = NotificationGroup.Instant

    enum State: Hashable, Sendable {
        /// - Parameters:
        ///   - tries: Number of consecutive failures.
        ///   - until: Time of the next attempt.
        case absent(tries: Int, until: Instant)
        case starting(since: Instant, tries: Int)
        /// Connected to the bus, which will report a service.
        case waiting
        case ready(showsMarkup: Bool, showsActions: Bool)
    }

    private(set) var state: State

    /// Timeout of a connection attempt.
    static let timeout = Duration.seconds(30)
    private static let retry = RetryPolicy(first: .seconds(1), maxDelay: .seconds(300), tries: .max)
    /// Maximum delay of the next attempt once there is a new notification.
    private static let renewal = Duration.seconds(5)

    init(at now: Instant) { state = .absent(tries: 0, until: now) }

    var isReady: Bool { if case .ready = state { true } else { false } }

    /// Shortens the delay for a new notification.
    mutating func renew(at now: Instant) {
        guard case .absent(let tries, let until) = state, tries > 0, until > now + Self.renewal
        else { return }
        state = .absent(tries: tries, until: now + Self.renewal)
    }

    /// Starts a due connection attempt, or ends one that timed out.
    /// - Parameters:
    ///   - isWanted: True if a notification is due.
    ///   - tellsCount: True if there is a count to report, for which one attempt is made.
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

    /// Next time for `step`.
    /// - Parameter time: Earliest time of a waiting notification.
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

    /// The bus is unavailable or has closed.
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
