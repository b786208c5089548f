import Base

/// How often something may happen within some time, by a clock that no server and no user sets.
struct RateLimit: Hashable, Sendable {
    private let count: Int
    private let duration: Duration
    /// When it happened, oldest first: never more than the limit.
    private(set) var times: [ElapsedTime] = []

    private init(_ count: Int, within duration: Duration) {
        self.count = count
        self.duration = duration
    }

    static let moves = RateLimit(10, within: .seconds(3600))
    static let agreements = RateLimit(3, within: .seconds(86_400))

    /// Whether it may happen once more.
    func allows(now: ElapsedTime) -> Bool {
        guard times.count == count, let first = times.first else { return true }
        return now >= first.advanced(by: duration)
    }

    /// Counts it, if it may happen once more.
    mutating func take(now: ElapsedTime) -> Bool {
        guard allows(now: now) else { return false }
        times = (times + [now]).suffix(count)
        return true
    }

    /// Whether it has not happened for as long as the limit speaks of.
    func isPast(now: ElapsedTime) -> Bool { isPast(now: now, by: duration) }

    func isPast(now: ElapsedTime, by duration: Duration) -> Bool {
        times.last.map { now >= $0.advanced(by: duration) } ?? true
    }

    // MARK: - Stored

    /// Of each time its nanoseconds, 8 bytes.
    var stored: [UInt8] {
        times.reduce(into: []) { $0.append(bigEndian: $1.nanoseconds) }
    }

    func having(stored bytes: [UInt8]) -> RateLimit {
        var (limit, reader) = (self, ByteReader(bytes))
        while limit.times.count < count, let nanoseconds = reader.integer(Int64.self) {
            limit.times.append(ElapsedTime(nanoseconds: nanoseconds))
        }
        return limit
    }
}
