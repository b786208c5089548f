/// A fixed number of histograms of durations, which threads extend without a lock. Thread-safe.
///
/// Bucket n counts durations up to 2^(n + 10) nanoseconds: from 1 µs to 69 s in factors of two. The last bucket counts
/// all longer ones.
public final class DurationHistograms: Sendable {
    /// For each histogram its buckets, then the sum of the durations.
    private let counters: ShardedCounters
    private static let width = DurationHistogram.bucketCount + 1

    /// - Parameter count: Number of histograms.
    public init(count: Int) { counters = ShardedCounters(count: count * Self.width) }

    /// Adds a duration in nanoseconds to a histogram.
    public func record(_ nanoseconds: UInt64, in index: Int) {
        let start = index * Self.width
        counters.add(to: start + DurationHistogram.bucket(of: nanoseconds))
        counters.add(nanoseconds, to: start + DurationHistogram.bucketCount)
    }

    /// Content of a histogram.
    public subscript(index: Int) -> DurationHistogram {
        let start = index * Self.width
        return DurationHistogram(
            counts: (0..<DurationHistogram.bucketCount).map { counters[start + $0] },
            nanoseconds: counters[start + DurationHistogram.bucketCount])
    }
}

/// Content of a histogram of durations.
public struct DurationHistogram: Codable, Hashable, Sendable {
    /// Number of durations in each bucket.
    public var counts: [UInt64]
    /// Sum of all durations in nanoseconds.
    public var nanoseconds: UInt64

    /// The smallest bound is 2^10 ns, about the cost of a system call.
    private static let firstExponent = 10
    public static let bucketCount = 28

    public init(
        counts: [UInt64] = [UInt64](repeating: 0, count: bucketCount), nanoseconds: UInt64 = 0
    ) {
        (self.counts, self.nanoseconds) = (counts, nanoseconds)
    }

    /// Index of the bucket of a duration in nanoseconds.
    static func bucket(of nanoseconds: UInt64) -> Int {
        // The exponent of the next power of two.
        let exponent = nanoseconds > 1 ? UInt64.bitWidth - (nanoseconds - 1).leadingZeroBitCount : 0
        return min(max(exponent - firstExponent, 0), bucketCount - 1)
    }

    /// Upper bound of a bucket in nanoseconds; nil for the last bucket.
    public static func bound(of bucket: Int) -> UInt64? {
        bucket < bucketCount - 1 ? 1 << UInt64(bucket + firstExponent) : nil
    }

    /// Adds the durations of another histogram.
    public mutating func add(_ other: DurationHistogram) {
        counts = zip(counts, other.counts).map { $0 &+ $1 }
        nanoseconds &+= other.nanoseconds
    }

    /// Number of durations.
    public var total: UInt64 { counts.reduce(0, &+) }

    /// Upper bound in nanoseconds of the shortest `share` of the durations; nil without durations, `.max` beyond the
    /// largest bound.
    /// - Parameter share: From 0 to 1; 0.5 for the median.
    public func quantile(_ share: Double) -> UInt64? {
        let wanted = max(1, (share * Double(total)).rounded(.up))
        var count: UInt64 = 0
        for (bucket, more) in counts.enumerated() {
            count &+= more
            if Double(count) >= wanted { return Self.bound(of: bucket) ?? .max }
        }
        return nil
    }
}
