/// Which refusals users were told the reason of lately.
struct ExplainedRefusals: Sendable {
    typealias Instant = NotificationGroup.Instant

    private var times: [RefusedRequest: Instant] = [:]

    /// The same refusal is not explained again before that.
    static let interval = Duration.seconds(60)
    static let limit = 256

    /// Whether a refusal is to be explained, which then counts as done.
    mutating func isDue(_ request: RefusedRequest, at now: Instant) -> Bool {
        if let last = times[request], last.duration(to: now) < Self.interval { return false }
        if times.count >= Self.limit {
            times = times.filter { $0.value.duration(to: now) < Self.interval }
            // Whoever is refused so much at a time knows by now.
            guard times.count < Self.limit else { return false }
        }
        times[request] = now
        return true
    }
}
