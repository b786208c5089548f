/// How much somebody may still have: all of an hour's at once, and then as time passes.
struct RateAllowance {
    private let limit: Double
    private var left: Double
    private var refilled: Int64

    /// - Parameter now: seconds, of a clock that may be set.
    init(_ limit: Int, now: Int64) {
        self.limit = Double(limit)
        left = Double(limit)
        refilled = now
    }

    /// Takes some; false when there is not as much.
    mutating func take(_ amount: Int = 1, now: Int64) -> Bool {
        refill(now)
        guard left >= Double(amount) else { return false }
        left -= Double(amount)
        return true
    }

    /// Whether nothing of it was taken that has not come back: it is as one that begins now.
    mutating func isFull(now: Int64) -> Bool {
        refill(now)
        return left >= limit
    }

    private mutating func refill(_ now: Int64) {
        left = min(limit, left + Double(max(0, now - refilled)) * limit / 3600)
        refilled = now
    }
}
