/// Limits repeated messages: permits each one at first, and again after a period. For log lines in loops. Remembers at
/// most the messages of one period.
public struct RepetitionLimit<Key: Hashable & Sendable>: Sendable {
    public enum Verdict: Equatable, Sendable {
        /// Permitted; this many were dropped before.
        case say(keptBack: Int)
        case keepBack
    }

    private let period: Duration
    private let maxCount: Int
    private var start: Duration?
    private var said: Set<Key> = []
    private var keptBack = 0

    /// - Parameters:
    ///   - period: The time after which the same message is permitted again.
    ///   - maxCount: The number of different messages in a period.
    public init(period: Duration = .seconds(60), maxCount: Int = 20) {
        self.period = period
        self.maxCount = maxCount
    }

    /// - Parameter now: The time of a monotonic clock.
    public mutating func verdict(on key: Key, now: Duration) -> Verdict {
        if start.map({ now - $0 >= period }) ?? true {
            start = now
            said = []
        }
        guard said.count < maxCount, said.insert(key).inserted else {
            keptBack += 1
            return .keepBack
        }
        defer { keptBack = 0 }
        return .say(keptBack: keptBack)
    }
}
