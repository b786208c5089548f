import Base

/// How often something may happen within some time.
struct RateLimit: Hashable, Sendable {
    private let count: Int
    private let duration: Duration
    /// When it happened, oldest first: never more than the limit, and one by a clock that was ahead.
    private(set) var times: [Timestamp] = []

    private init(_ count: Int, within duration: Duration) {
        self.count = count
        self.duration = duration
    }

    static let moves = RateLimit(10, within: .seconds(3600))
    static let agreements = RateLimit(3, within: .seconds(86_400))

    /// What servers deliver is no older than this. What is stored as still later was by a clock that was wrong, and would
    /// forbid everything until then.
    private static let maxAhead = Duration.seconds(22 * 86_400)

    private func credible(_ now: Timestamp) -> [Timestamp] {
        times.filter { $0 <= now.advanced(by: Self.maxAhead) }.suffix(count)
    }

    /// Whether it may happen once more.
    func allows(now: Timestamp) -> Bool {
        let times = credible(now)
        guard times.count == count, let first = times.first else { return true }
        return now >= first.advanced(by: duration)
    }

    /// Counts it, if it may happen once more.
    mutating func take(now: Timestamp) -> Bool {
        guard allows(now: now) else { return false }
        // By the other clock it has happened all the same.
        let ahead = times.last.flatMap { $0 > now.advanced(by: Self.maxAhead) ? $0 : nil }
        times = (credible(now) + [now]).suffix(count) + (ahead.map { [$0] } ?? [])
        return true
    }

    /// Whether it has not happened for as long as the limit speaks of.
    func isPast(now: Timestamp) -> Bool { isPast(now: now, by: duration) }

    func isPast(now: Timestamp, by duration: Duration) -> Bool {
        credible(now).last.map { now >= $0.advanced(by: duration) } ?? true
    }

    // MARK: - Stored

    /// Of each time its seconds, 8 bytes.
    var stored: [UInt8] {
        times.reduce(into: []) { $0.append(bigEndian: $1.seconds) }
    }

    func having(stored bytes: [UInt8]) -> RateLimit {
        var (limit, reader) = (self, ByteReader(bytes))
        while limit.times.count <= count, let seconds = reader.integer(Int64.self) {
            limit.times.append(Timestamp(seconds: seconds))
        }
        return limit
    }
}
