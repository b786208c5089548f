/// One direction of one connection over a line, without I/O: how much its sender may send, and what has arrived
/// when. TCP's slow start and nothing else of it: the window grows by what is acknowledged until it is as large
/// as it gets; nothing is lost, so it never shrinks, not even when the connection rests.
struct LinePath {
    typealias Instant = ContinuousClock.Instant

    private let settings: LineSettings
    private var window: Int
    /// Sent and not acknowledged.
    private var unacknowledged = 0
    /// On their way, in order; the bytes themselves are kept elsewhere.
    private var transit = Timetable()
    private var acknowledgements = Timetable()

    init(_ settings: LineSettings) {
        self.settings = settings
        window = settings.firstWindow
    }

    /// Bytes that may be sent now.
    mutating func allowance(at now: Instant) -> Int {
        while let count = acknowledgements.next(by: now) {
            unacknowledged -= count
            window = min(window + count, settings.maxWindow)
        }
        return max(0, window - unacknowledged)
    }

    /// `count` bytes are sent, behind what others sent into the line before.
    mutating func send(_ count: Int, at now: Instant, into line: inout SharedLine) {
        unacknowledged += count
        transit.add(count, at: line.departure(of: count, at: now) + settings.delay)
    }

    /// Bytes that have arrived since the last time.
    mutating func arrived(by now: Instant) -> Int {
        var sum = 0
        while let count = transit.next(by: now) { sum += count }
        return sum
    }

    /// The receiver has taken `count` of what arrived; its sender will know one delay later.
    mutating func take(_ count: Int, at now: Instant) {
        acknowledgements.add(count, at: now + settings.delay)
    }

    /// When something arrives, or the sender may send more, next.
    var nextEvent: Instant? {
        switch (transit.first, acknowledgements.first) {
        case (let arrival?, let more?): min(arrival, more)
        case (let arrival, let more): arrival ?? more
        }
    }
}

/// One direction of the line: what goes through it goes one after the other.
struct SharedLine {
    private let settings: LineSettings
    private var free: LinePath.Instant?

    init(_ settings: LineSettings) { self.settings = settings }

    /// When the last of `count` bytes has left.
    mutating func departure(of count: Int, at now: LinePath.Instant) -> LinePath.Instant {
        let end = max(now, free ?? now) + settings.time(for: count)
        free = end
        return end
    }
}

/// Numbers of bytes with the moment of each, in order.
private struct Timetable {
    private var entries: [(at: LinePath.Instant, count: Int)] = []
    private var start = 0

    var first: LinePath.Instant? { start < entries.count ? entries[start].at : nil }

    mutating func add(_ count: Int, at moment: LinePath.Instant) { entries.append((moment, count)) }

    mutating func next(by now: LinePath.Instant) -> Int? {
        guard start < entries.count, entries[start].at <= now else { return nil }
        defer {
            start += 1
            if start > 1024 && start * 2 > entries.count {
                entries.removeFirst(start)
                start = 0
            }
        }
        return entries[start].count
    }
}
