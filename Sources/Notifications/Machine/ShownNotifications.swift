import ChatCore

/// The displayed notifications by token, and the pending requests to the service.
struct ShownNotifications: Sendable {
    typealias Group = NotificationGroup
    typealias Instant = NotificationGroup.Instant

    private struct Shown: Sendable {
        var group: Group
        var actions: OfferedActions
    }

    private struct Question: Sendable {
        let since: Instant
        /// The new entries, which are notified again if the service fails.
        let added: Group
    }

    private var shown: [UInt64: Shown] = [:]
    /// Displayed notifications without remaining entries.
    private var obsolete: [UInt64] = []
    /// Displayed notifications whose groups shrank.
    private var changed: Set<UInt64> = []
    private var unanswered: [UInt64: Question] = [:]
    private var nextToken: UInt64 = 1

    static let limit = 64
    static let maxUnanswered = 16
    /// Time after which a pending request is given up.
    static let timeout = ServiceConnection.timeout

    /// True if too many requests are pending.
    var isFull: Bool { unanswered.count >= Self.maxUnanswered }
    var hasObsolete: Bool { !obsolete.isEmpty }
    /// Time at which the oldest request is given up.
    var nextTimeout: Instant? { unanswered.values.map { $0.since + Self.timeout }.min() }

    /// Returns the timeout of the pending request for a key; nil if there is none.
    func answerDue(of key: Group.Key) -> Instant? {
        token(of: key).flatMap { unanswered[$0] }.map { $0.since + Self.timeout }
    }

    private func token(of key: Group.Key) -> UInt64? { shown.first { $0.value.group.key == key }?.key }

    /// Returns the token and group to display: merged with a displayed group of the same key, or new.
    mutating func place(for added: Group) -> (token: UInt64, group: Group) {
        if let token = token(of: added.key), var group = shown[token]?.group {
            group.add(added)
            return (token, group)
        }
        defer { nextToken += 1 }
        return (nextToken, added)
    }

    /// - Parameters:
    ///   - token: From `place(for: added)`.
    ///   - group: From `place(for: added)`.
    /// - Returns: The oldest token if it must make room.
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

    /// Removes an entry from the groups of these subjects.
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

    /// Removes a chat's arrivals of these subjects, also from notifications of several chats.
    mutating func removeArrivals(in chat: ChatReference, _ subjects: [NotificationSubject]) {
        for (token, notification) in shown where subjects.contains(notification.group.key.subject) {
            let group = notification.group
            guard group.chats.contains(chat) else { continue }
            if group.key.chat == nil, let rest = group.without([chat]) {
                shown[token]?.group = rest
                changed.insert(token)
            } else {
                closed(token)
                obsolete.append(token)
            }
        }
    }

    /// Removes and returns the shrunk groups. Those with pending requests wait.
    mutating func takeChanged() -> [(token: UInt64, group: Group)] {
        let due = changed.filter { unanswered[$0] == nil }.sorted()
        changed.subtract(due)
        return due.compactMap { token in shown[token].map { (token, $0.group) } }
    }

    /// True if `takeChanged` returns groups.
    var hasChanged: Bool { changed.contains { unanswered[$0] == nil } }

    /// Removes answered requests.
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

    /// Removes and returns the tokens to close.
    mutating func takeObsolete() -> [UInt64] {
        defer { obsolete = [] }
        return obsolete
    }

    /// Gives up requests that timed out.
    mutating func giveUp(at now: Instant) {
        unanswered = unanswered.filter { $0.value.since + Self.timeout > now }
    }

    // MARK: - Answers of the service

    mutating func answered(_ token: UInt64) { unanswered[token] = nil }

    mutating func closed(_ token: UInt64) {
        shown[token] = nil
        changed.remove(token)
        unanswered[token] = nil
    }

    /// Handles a click or a button, which closes the notification.
    /// - Parameter number: 0 for the click, 1 for the first button.
    mutating func acted(_ token: UInt64, _ number: Int = 1) -> NotificationAction? {
        guard let action = shown[token]?.actions[number] else { return nil }
        shown[token] = nil
        changed.remove(token)
        return action
    }

    /// Handles a failed request.
    /// - Returns: The entries to notify; nil if the request was given up.
    mutating func failed(_ token: UInt64) -> Group? {
        shown[token] = nil
        return unanswered.removeValue(forKey: token)?.added
    }

    /// Forgets all notifications of a service that is gone.
    mutating func forgetAll() {
        shown = [:]
        changed = []
        unanswered = [:]
    }
}
