/// Times of the last notifications about files that wait for approval.
struct RepeatedApprovals: Sendable {
    typealias Instant = NotificationGroup.Instant

    private var times: [NotifiedEntry: Instant] = [:]

    /// Minimum time before a new attempt is notified again.
    static let interval = Duration.seconds(60)
    static let limit = 256

    func isDue(_ entry: NotifiedEntry, at now: Instant) -> Bool {
        times[entry].map { $0.duration(to: now) >= Self.interval } ?? (times.count < Self.limit)
    }

    mutating func note(_ entry: NotifiedEntry, at now: Instant) {
        if times.count >= Self.limit { times = times.filter { $0.value.duration(to: now) < Self.interval } }
        if times.count < Self.limit { times[entry] = now }
    }
}
