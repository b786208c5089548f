import ChatCore

/// Decides when groups are shown: a second after the last notification of their chat, at the next report, or after a
/// delay if the service failed.
struct NotificationSchedule: Sendable {
    typealias Instant = NotificationGroup.Instant

    private let mode: NotificationMode
    private let beginning: Instant
    /// Last notification by chat; nil stands for groups of no chat.
    private var lastTold: [ChatReference?: Instant] = [:]
    /// End of the delay after a failure.
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

    /// Reports follow at fixed periods after the beginning.
    private func report(after time: Instant) -> Instant {
        let periods = Int(beginning.duration(to: time) / Self.period) + 1
        return beginning + Self.period * periods
    }

    mutating func told(_ group: NotificationGroup, at now: Instant) {
        for chat in group.chats { lastTold[chat] = now }
        if group.key.chat == nil { lastTold[nil as ChatReference?] = now }
    }

    /// Called when the service showed a notification.
    mutating func succeeded() { failures = 0 }

    /// Called when the service failed to show one.
    /// - Returns: True if it is retried later.
    mutating func failed(at now: Instant) -> Bool {
        failures += 1
        guard failures <= Self.maxFailures else { return false }
        pausedUntil = now + .seconds(10 * failures)
        return true
    }
}
