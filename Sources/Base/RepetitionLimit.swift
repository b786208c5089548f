/// Lets something be said the first time, and again when it still happens a while later: for lines of a log that
/// a loop would flood. Whatever comes, it remembers no more than it says in one period.
public struct RepetitionLimit<Key: Hashable & Sendable>: Sendable {
    public enum Verdict: Equatable, Sendable {
        /// To be said; so much was kept back before.
        case say(keptBack: Int)
        case keepBack
    }

    private let period: Duration
    private let maxCount: Int
    private var start: Duration?
    private var said: Set<Key> = []
    private var keptBack = 0

    /// - Parameters:
    ///   - period: after that the same may be said again.
    ///   - maxCount: how many different things are said in it.
    public init(period: Duration = .seconds(60), maxCount: Int = 20) {
        self.period = period
        self.maxCount = maxCount
    }

    /// - Parameter now: of any clock that never goes back.
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
