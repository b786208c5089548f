import Base

/// A limit of events per duration, measured by the boot clock, which servers and users cannot set.
struct RateLimit: Hashable, Sendable {
    private let count: Int
    private let duration: Duration
    /// Times of the last events, oldest first, at most `count`.
    private(set) var times: [ElapsedTime] = []

    private init(_ count: Int, within duration: Duration) {
        self.count = count
        self.duration = duration
    }

    static let moves = RateLimit(10, within: .seconds(3600))
    static let agreements = RateLimit(3, within: .seconds(86_400))

    /// Whether one more event is allowed.
    func allows(now: ElapsedTime) -> Bool {
        guard times.count == count, let first = times.first else { return true }
        return now >= first.advanced(by: duration)
    }

    /// Counts an event and returns true if it is allowed.
    mutating func take(now: ElapsedTime) -> Bool {
        guard allows(now: now) else { return false }
        times = (times + [now]).suffix(count)
        return true
    }

    /// Whether the last event is longer ago than the limit's duration.
    func isPast(now: ElapsedTime) -> Bool { isPast(now: now, by: duration) }

    func isPast(now: ElapsedTime, by duration: Duration) -> Bool {
        times.last.map { now >= $0.advanced(by: duration) } ?? true
    }

    // MARK: - Stored

    /// Boot clock nanoseconds, 8 bytes each.
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
