import Base

/// How often a server has refused what is sent for a queue, one time after the other. Its word for that (`ERR AUTH`) says
/// that the queue is not there, or not for this key: the other side may have deleted it, or the server may have restarted
/// with what it had yesterday. Only a refusal that lasts says that it is for good.
struct Refusals: Hashable, Sendable {
    /// 0: what was sent last was taken.
    private(set) var count: Int
    /// When the first of them came.
    private(set) var since: ElapsedTime?

    /// What is taken for the end of a queue.
    struct Limit: Hashable, Sendable {
        /// At least so many refusals,
        var count: Int
        /// the first of them at least so long ago.
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

    /// Whether nobody needs to try any more.
    func areFinal(at now: ElapsedTime, _ limit: Limit) -> Bool {
        guard let since else { return false }
        return count >= limit.count && now >= since.advanced(by: limit.duration)
    }
}
