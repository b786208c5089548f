/// A limit on counted units, such as bytes or buffers. Thread-safe.
public final class Budget: Sendable {
    public let limit: UInt64
    private let taken = Lock<UInt64>(0, rank: .innermost)

    public init(limit: UInt64 = .max) { self.limit = limit }

    public var used: UInt64 { taken.withLock { $0 } }

    /// Reserves units. Returns false if they exceed the limit.
    public func take(_ count: UInt64 = 1) -> Bool {
        taken.withLock { taken in
            let (sum, overflow) = taken.addingReportingOverflow(count)
            guard !overflow, sum <= limit else { return false }
            taken = sum
            return true
        }
    }

    /// Counts units that exist already, even beyond the limit.
    public func takeAnyway(_ count: UInt64) { taken.withLock { $0 += count } }

    public func giveBack(_ count: UInt64 = 1) { taken.withLock { $0 -= min($0, count) } }
}
