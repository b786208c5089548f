import ChatCore

/// What is on show, by the tokens under which the service knows it, and what it was asked and has not answered.
struct ShownNotifications: Sendable {
    typealias Group = NotificationGroup
    typealias Instant = NotificationGroup.Instant

    private struct Shown: Sendable {
        var group: Group
        var actions: OfferedActions
    }

    private struct Question: Sendable {
        let since: Instant
        /// What was added to the notification, which is told once more if the service fails.
        let added: Group
    }

    private var shown: [UInt64: Shown] = [:]
    /// On show, and of nothing any more.
    private var obsolete: [UInt64] = []
    /// On show, and of less than it says.
    private var changed: Set<UInt64> = []
    private var unanswered: [UInt64: Question] = [:]
    private var nextToken: UInt64 = 1

    static let limit = 64
    static let maxUnanswered = 16
    /// A notification that is not answered by then is given up.
    static let timeout = ServiceConnection.timeout

    /// The service has so much to answer that it is asked nothing more.
    var isFull: Bool { unanswered.count >= Self.maxUnanswered }
    var hasObsolete: Bool { !obsolete.isEmpty }
    /// When the first question is given up.
    var nextTimeout: Instant? { unanswered.values.map { $0.since + Self.timeout }.min() }

    /// Until then what is on show of the same may still be answered.
    func answerDue(of key: Group.Key) -> Instant? {
        token(of: key).flatMap { unanswered[$0] }.map { $0.since + Self.timeout }
    }

    private func token(of key: Group.Key) -> UInt64? { shown.first { $0.value.group.key == key }?.key }

    /// Where a group is shown: in the place of what is on show of the same, of which it becomes part, or in a new one.
    mutating func place(for added: Group) -> (token: UInt64, group: Group) {
        if let token = token(of: added.key), var group = shown[token]?.group {
            group.add(added)
            return (token, group)
        }
        defer { nextToken += 1 }
        return (nextToken, added)
    }

    /// - Parameters:
    ///   - token, group: from `place(for: added)`.
    /// - Returns: the oldest, where it has to go for this one.
    mutating func show(
        _ token: UInt64, _ group: Group, _ actions: OfferedActions, added: Group, at now: Instant
    ) -> UInt64? {
        var dropped: UInt64?
        if shown.count >= Self.limit, shown[token] == nil, let oldest = shown.keys.min() {
            shown[oldest] = nil
            changed.remove(oldest)
            dropped = oldest
        }
        shown[token] = Shown(group: group, actions: actions)
        changed.remove(token)
        unanswered[token] = Question(since: now, added: added)
        return dropped
    }

    /// An entry of which nothing of these subjects need be told any more.
    mutating func remove(_ entry: NotifiedEntry, of subjects: [NotificationSubject]) {
        for (token, notification) in shown where subjects.contains(notification.group.key.subject) {
            guard notification.group.key.refusal == nil else { continue }
            if shown[token]?.group.remove(entry) == false {
                closed(token)
                obsolete.append(token)
            } else if shown[token]?.group.count != notification.group.count {
                changed.insert(token)
            }
        }
    }

    /// What came to a chat, and that somebody has become its contact, is not on show any more.
    mutating func removeArrivals(in chat: ChatReference, _ subjects: [NotificationSubject]) {
        for (token, notification) in shown where notification.group.key.chat == chat {
            guard subjects.contains(notification.group.key.subject) else { continue }
            closed(token)
            obsolete.append(token)
        }
    }

    /// What some notifications say now that they tell of less. Those that are not answered yet wait.
    mutating func takeChanged() -> [(token: UInt64, group: Group)] {
        let due = changed.filter { unanswered[$0] == nil }.sorted()
        changed.subtract(due)
        return due.compactMap { token in shown[token].map { (token, $0.group) } }
    }

    /// Whether `takeChanged` has something.
    var hasChanged: Bool { changed.contains { unanswered[$0] == nil } }

    /// Those whose requests do not wait any more are of nothing.
    mutating func removeRequests(except waiting: Set<Int64>) {
        for (token, notification) in shown {
            guard [.request, .invitation].contains(notification.group.key.subject) else { continue }
            for case .request(let number) in notification.group.files.map(\.entry)
            where !waiting.contains(number) {
                remove(.request(number), of: [.request, .invitation])
            }
            if shown[token] == nil { changed.remove(token) }
        }
    }

    /// What is to be closed.
    mutating func takeObsolete() -> [UInt64] {
        defer { obsolete = [] }
        return obsolete
    }

    /// Waits no longer for answers that should have come.
    mutating func giveUp(at now: Instant) {
        unanswered = unanswered.filter { $0.value.since + Self.timeout > now }
    }

    // MARK: - What the service answers

    mutating func answered(_ token: UInt64) { unanswered[token] = nil }

    mutating func closed(_ token: UInt64) {
        shown[token] = nil
        changed.remove(token)
        unanswered[token] = nil
    }

    /// It was clicked, or a button of it: then it goes.
    /// - Parameter number: 0 is the click, 1 the first button.
    mutating func acted(_ token: UInt64, _ number: Int = 1) -> NotificationAction? {
        guard let action = shown[token]?.actions[number] else { return nil }
        shown[token] = nil
        changed.remove(token)
        return action
    }

    /// It was not shown.
    /// - Returns: what was to be; nil when it was given up before.
    mutating func failed(_ token: UInt64) -> Group? {
        shown[token] = nil
        return unanswered.removeValue(forKey: token)?.added
    }

    /// The service is another one, or gone, and with it what it had on show.
    mutating func forgetAll() {
        shown = [:]
        changed = []
        unanswered = [:]
    }
}
