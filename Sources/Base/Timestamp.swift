import Glibc

/// A point of wall-clock time: nanoseconds since 1970-01-01 00:00 UTC, from 1677 to 2262. Files show whole seconds.
/// Programs may set any file time, so others become the nearest valid one.
public struct Timestamp: Hashable, Comparable, Sendable, Codable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    public init(seconds: Int64) { nanoseconds = Self.nanoseconds(seconds, 0) }

    private static func nanoseconds(_ seconds: Int64, _ rest: Int64) -> Int64 {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carried) = whole.addingReportingOverflow(rest)
        return overflow || carried ? (seconds < 0 ? .min : .max) : sum
    }

    /// Seconds, rounded down.
    public var seconds: Int64 {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0 ? seconds - 1 : seconds
    }

    /// For users, to the minute in local time with its offset: `2026-11-20 14:05 +01:00`.
    public var text: String {
        var time = time_t(seconds)
        var parts = tm()
        localtime_r(&time, &parts)
        func padded(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
        func padded(_ number: Int32) -> String { padded(Int(number)) }
        let day = "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
        let minutes = abs(parts.tm_gmtoff) / 60
        let offset = (parts.tm_gmtoff < 0 ? "-" : "+") + padded(minutes / 60) + ":" + padded(minutes % 60)
        return day + " \(padded(parts.tm_hour)):\(padded(parts.tm_min)) \(offset)"
    }

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// This time plus a duration, exact to the nanosecond.
    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let step = Self.nanoseconds(seconds, attoseconds / 1_000_000_000)
        let (sum, overflow) = nanoseconds.addingReportingOverflow(step)
        return Timestamp(nanoseconds: overflow ? (step < 0 ? .min : .max) : sum)
    }
}

/// The current time: the system's clock, or a manual one in tests.
public protocol WallClock: Sendable {
    func now() -> Timestamp
}

public struct SystemWallClock: WallClock {
    public init() {}

    public func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
