/// How many queues a connection may still make: all of an hour's at once, and then as time passes.
struct QueueAllowance {
    private let limit: Double
    private var left: Double
    private var refilled: Int64

    /// - Parameter now: seconds, of a clock that may be set.
    init(_ limit: Int, now: Int64) {
        self.limit = Double(limit)
        left = Double(limit)
        refilled = now
    }

    /// Takes one; false when there is none.
    mutating func take(now: Int64) -> Bool {
        left = min(limit, left + Double(max(0, now - refilled)) * limit / 3600)
        refilled = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
