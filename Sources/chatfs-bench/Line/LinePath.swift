import Base

/// One direction of a connection over a line, without I/O: the permitted bytes of its sender, and the arrivals.
/// Implements only TCP's slow start: the window grows with acknowledgements up to its maximum. No bytes are lost, so it
/// never shrinks, even on an idle connection.
struct LinePath {
    typealias Instant = ContinuousClock.Instant

    private let settings: LineSettings
    private var window: Int
    /// The sent and unacknowledged bytes.
    private var unacknowledged = 0
    /// The bytes in transit, in order; their contents are elsewhere.
    private var transit = Timetable()
    private var acknowledgements = Timetable()

    init(_ settings: LineSettings) {
        self.settings = settings
        window = settings.firstWindow
    }

    /// The bytes that may be sent now.
    mutating func allowance(at now: Instant) -> Int {
        while let count = acknowledgements.next(by: now) {
            unacknowledged -= count
            window = min(window + count, settings.maxWindow)
        }
        return max(0, window - unacknowledged)
    }

    /// Sends `count` bytes, after earlier bytes of other connections.
    mutating func send(_ count: Int, at now: Instant, into line: inout SharedLine) {
        unacknowledged += count
        transit.add(count, at: line.departure(of: count, at: now) + settings.delay)
    }

    /// Returns the bytes that arrived since the last call.
    mutating func arrived(by now: Instant) -> Int {
        var sum = 0
        while let count = transit.next(by: now) { sum += count }
        return sum
    }

    /// The receiver has read `count` of the arrived bytes; the sender learns that one delay later.
    mutating func take(_ count: Int, at now: Instant) {
        acknowledgements.add(count, at: now + settings.delay)
    }

    /// The next time of an arrival or of a larger window.
    var nextEvent: Instant? {
        switch (transit.first, acknowledgements.first) {
        case (let arrival?, let more?): min(arrival, more)
        case (let arrival, let more): arrival ?? more
        }
    }
}

/// One direction of the line: bytes pass one after another.
struct SharedLine {
    private let settings: LineSettings
    private var free: LinePath.Instant?

    init(_ settings: LineSettings) { self.settings = settings }

    /// Returns the departure of the last of `count` bytes.
    mutating func departure(of count: Int, at now: LinePath.Instant) -> LinePath.Instant {
        let end = max(now, free ?? now) + settings.time(for: count)
        free = end
        return end
    }
}

/// Numbers of bytes with their times, in order.
private struct Timetable {
    private var entries = ElementQueue<(at: LinePath.Instant, count: Int)>()

    var first: LinePath.Instant? { entries.first?.at }

    mutating func add(_ count: Int, at moment: LinePath.Instant) { entries.append((moment, count)) }

    mutating func next(by now: LinePath.Instant) -> Int? {
        guard let first, first <= now else { return nil }
        return entries.popFirst()?.count
    }
}
