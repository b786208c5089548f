import Base

/// Consecutive `ERR AUTH` replies to `SEND` for a queue. The error means that the queue is gone or secured by
/// another key. Either the peer deleted it, or the server restarted from an old backup. Only lasting refusals
/// are final.
struct Refusals: Hashable, Sendable {
    /// 0 after an accepted message.
    private(set) var count: Int
    /// Time of the first refusal.
    private(set) var since: ElapsedTime?

    /// When refusals are final. Both conditions must hold.
    struct Limit: Hashable, Sendable {
        /// Minimum number of refusals.
        var count: Int
        /// Minimum time since the first one.
        var duration: Duration
    }

    init(count: Int = 0, since: ElapsedTime? = nil) {
        self.count = since == nil ? 0 : max(0, count)
        self.since = self.count == 0 ? nil : since
    }

    mutating func add(at now: ElapsedTime) {
        since = since ?? now
        count = min(count + 1, 1_000_000)
    }

    /// Whether the queue counts as deleted.
    func areFinal(at now: ElapsedTime, _ limit: Limit) -> Bool {
        guard let since else { return false }
        return count >= limit.count && now >= since.advanced(by: limit.duration)
    }
}
