/// A point of time on a clock that nobody can set: nanoseconds since a database began to count (`ElapsedTimeCount`). Two
/// of one database can be compared; no wall clock and no server has a say in them.
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

    /// This time moved by a duration, to the nanosecond.
    public func advanced(by duration: Duration) -> ElapsedTime {
        ElapsedTime(
            nanoseconds: Timestamp(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
    }
}

/// What the clock of a running machine shows.
public struct BootReading: Hashable, Sendable {
    /// Another one after each start of the machine.
    public var boot: String
    /// Since the machine was started, also while it slept.
    public var nanoseconds: Int64

    public init(boot: String, nanoseconds: Int64) {
        self.boot = boot
        self.nanoseconds = nanoseconds
    }
}

/// The clock of the machine since its start: the system's in the program, one that tests move by hand.
public protocol BootClock: Sendable {
    func reading() -> BootReading
}

/// Counts the time that has certainly passed, over ends of processes and starts of the machine. While the machine is
/// off nothing is counted: only the wall clock could say how long that was, and who sets it could have everything be
/// over at once. So a limit may last longer than it says, and never less.
public struct ElapsedTimeCount: Hashable, Sendable {
    public private(set) var reading: BootReading
    public private(set) var time: ElapsedTime

    public init(reading: BootReading, time: ElapsedTime) {
        self.reading = reading
        self.time = time
    }

    /// Counts until this reading, and gives the time then. A reading of another boot counts nothing, nor does one that
    /// is earlier than the last.
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
