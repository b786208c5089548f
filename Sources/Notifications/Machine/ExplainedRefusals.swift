/// Refusals that were recently explained to the user.
struct ExplainedRefusals: Sendable {
    typealias Instant = NotificationGroup.Instant

    private var times: [RefusedRequest: Instant] = [:]

    /// Minimum time before the same refusal is explained again.
    static let interval = Duration.seconds(60)
    static let limit = 256

    /// Returns true if the refusal must be explained now, and records that.
    mutating func isDue(_ request: RefusedRequest, at now: Instant) -> Bool {
        if let last = times[request], last.duration(to: now) < Self.interval { return false }
        if times.count >= Self.limit {
            times = times.filter { $0.value.duration(to: now) < Self.interval }
            // Suppress the flood of a program that is refused constantly.
            guard times.count < Self.limit else { return false }
        }
        times[request] = now
        return true
    }
}
