/// A point in time on a clock that cannot be set: nanoseconds since a database began to count (`ElapsedTimeCount`).
/// Comparable within one database, and independent of wall clocks and servers.
public struct ElapsedTime: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    public init(seconds: Int64) {
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self.nanoseconds = overflow ? (seconds < 0 ? .min : .max) : nanoseconds
    }

    /// Whole seconds, rounded towards 0.
    public var seconds: Int64 { nanoseconds / 1_000_000_000 }

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// This time plus a duration, exact to the nanosecond.
    public func advanced(by duration: Duration) -> ElapsedTime {
        ElapsedTime(
            nanoseconds: Timestamp(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
    }
}

/// A reading of a running machine's clock.
public struct BootReading: Hashable, Sendable {
    /// The boot, unique for each start of the machine.
    public var boot: String
    /// The time since the boot, including sleep.
    public var nanoseconds: Int64

    public init(boot: String, nanoseconds: Int64) {
        self.boot = boot
        self.nanoseconds = nanoseconds
    }
}

/// The machine's clock since its boot, or a manual one in tests.
public protocol BootClock: Sendable {
    func reading() -> BootReading
}

/// Counts certainly elapsed time across processes and boots. Does not count while the machine is off, because only the
/// wall clock could tell that time, and setting it would end every limit at once. So a limit may last longer than
/// stated, and never shorter.
public struct ElapsedTimeCount: Hashable, Sendable {
    public private(set) var reading: BootReading
    public private(set) var time: ElapsedTime

    public init(reading: BootReading, time: ElapsedTime) {
        self.reading = reading
        self.time = time
    }

    /// Counts up to this reading and returns the time. A reading of another boot, or one earlier than the last, counts
    /// nothing.
    public mutating func advance(to next: BootReading) -> ElapsedTime {
        guard next.boot == reading.boot else {
            reading = next
            return time
        }
        let (passed, overflow) = next.nanoseconds.subtractingReportingOverflow(reading.nanoseconds)
        guard !overflow, passed > 0 else { return time }
        time = time.advanced(by: .nanoseconds(passed))
        reading = next
        return time
    }
}
