import ChatCore

/// When groups are told: a second after the last notification of their chat, in the next report, or some time after
/// the service failed.
struct NotificationSchedule: Sendable {
    typealias Instant = NotificationGroup.Instant

    private let mode: NotificationMode
    private let beginning: Instant
    /// Of chats, and of what belongs to none.
    private var lastTold: [ChatReference?: Instant] = [:]
    /// When the service refused something: not at once again.
    private var pausedUntil: Instant?
    private var failures = 0

    static let interval = Duration.seconds(1)
    static let period = Duration.seconds(20 * 60)
    private static let maxFailures = 3

    init(mode: NotificationMode, beginning: Instant) {
        self.mode = mode
        self.beginning = beginning
    }

    /// The earliest time at which the group may be shown.
    /// - Parameter answerDue: deadline for the service's answer to the previous request for this group.
    func time(of group: NotificationGroup, answerDue: Instant?) -> Instant {
        var time = lastTold[group.key.chat].map { $0 + Self.interval } ?? beginning
        if let pausedUntil { time = max(time, pausedUntil) }
        if let answerDue { time = max(time, answerDue) }
        guard mode == .periodic, ![.refusal, .keys, .stop].contains(group.key.subject) else { return time }
        return max(time, report(after: group.since))
    }

    /// Reports come in periods from the beginning on.
    private func report(after time: Instant) -> Instant {
        let periods = Int(beginning.duration(to: time) / Self.period) + 1
        return beginning + Self.period * periods
    }

    mutating func told(_ group: NotificationGroup, at now: Instant) {
        for chat in group.chats { lastTold[chat] = now }
        if group.key.chat == nil { lastTold[nil as ChatReference?] = now }
    }

    /// The service has shown something.
    mutating func succeeded() { failures = 0 }

    /// It has not.
    /// - Returns: whether that is tried once more, some time later: not for ever.
    mutating func failed(at now: Instant) -> Bool {
        failures += 1
        guard failures <= Self.maxFailures else { return false }
        pausedUntil = now + .seconds(10 * failures)
        return true
    }
}
