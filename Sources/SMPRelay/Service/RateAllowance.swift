/// A token bucket: the full hourly amount at first, then refilled over time.
struct RateAllowance {
    private let limit: Double
    private var left: Double
    private var refilled: Int64

    /// - Parameter now: The time in seconds. The clock may be set back.
    init(_ limit: Int, now: Int64) {
        self.limit = Double(limit)
        left = Double(limit)
        refilled = now
    }

    /// Takes `amount`. Returns false if less is left.
    mutating func take(_ amount: Int = 1, now: Int64) -> Bool {
        refill(now)
        guard left >= Double(amount) else { return false }
        left -= Double(amount)
        return true
    }

    /// Returns whether the bucket is full, as if new.
    mutating func isFull(now: Int64) -> Bool {
        refill(now)
        return left >= limit
    }

    private mutating func refill(_ now: Int64) {
        left = min(limit, left + Double(max(0, now - refilled)) * limit / 3600)
        refilled = now
    }
}
