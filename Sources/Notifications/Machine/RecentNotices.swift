/// Times of recent notifications, which are not repeated at once.
struct RecentNotices<Subject: Hashable & Sendable>: Sendable {
    typealias Instant = NotificationGroup.Instant

    private var times: [Subject: Instant] = [:]

    /// Minimum time before the same notification is repeated.
    static var interval: Duration { .seconds(60) }
    static var limit: Int { 256 }

    /// Returns false also above the limit, against the flood of a program that is refused constantly.
    func isDue(_ subject: Subject, at now: Instant) -> Bool {
        if let last = times[subject] { return last.duration(to: now) >= Self.interval }
        return times.count < Self.limit || times.values.contains { $0.duration(to: now) >= Self.interval }
    }

    mutating func note(_ subject: Subject, at now: Instant) {
        if times.count >= Self.limit { times = times.filter { $0.value.duration(to: now) < Self.interval } }
        if times.count < Self.limit { times[subject] = now }
    }
}
