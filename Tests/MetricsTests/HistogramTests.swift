import Base
import Testing

@testable import Metrics

@Suite("Counters and histograms")
struct HistogramTests {
    @Test("concurrent additions are all counted")
    func concurrent() async {
        let counters = ShardedCounters(count: 11)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for number in 0..<11_000 { counters.add(to: number % 11) } }
            }
        }
        #expect(counters.values == [UInt64](repeating: 8000, count: 11))
        counters.add(1 << 40, to: 3)
        #expect(counters[3] == 8000 + 1 << 40)
    }

    @Test(
        "a power of two is its bucket's upper bound",
        arguments: [
            (0, 0), (1, 0), (1024, 0), (1025, 1), (2048, 1), (2049, 2), (1 << 20, 10), (1 << 20 + 1, 11),
            (1 << 36, 26), (1 << 36 + 1, 27), (.max, 27),
        ] as [(UInt64, Int)])
    func buckets(nanoseconds: UInt64, bucket: Int) {
        #expect(DurationHistogram.bucket(of: nanoseconds) == bucket)
        let bound = DurationHistogram.bound(of: bucket)
        #expect(bound.map { nanoseconds <= $0 } ?? (nanoseconds > 1 << 36))
    }

    @Test("a histogram has its durations and their sum")
    func recording() {
        let histograms = DurationHistograms(count: 3)
        for nanoseconds: UInt64 in [500, 3000, 3000, 5_000_000] { histograms.record(nanoseconds, in: 1) }
        let durations = histograms[1]
        #expect(durations.total == 4 && durations.nanoseconds == 5_006_500)
        #expect(durations.counts.enumerated().filter { $0.element > 0 }.map(\.offset) == [0, 2, 13])
        #expect(histograms[0].total == 0 && histograms[2] == DurationHistogram())
        var sum = durations
        sum.add(durations)
        #expect(sum.total == 8 && sum.nanoseconds == 10_013_000)
    }

    @Test("a quantile is the bound of its bucket")
    func quantiles() {
        let histograms = DurationHistograms(count: 1)
        #expect(histograms[0].quantile(0.5) == nil)
        for _ in 0..<90 { histograms.record(2000, in: 0) }
        for _ in 0..<10 { histograms.record(100_000, in: 0) }
        let durations = histograms[0]
        #expect(durations.quantile(0) == 2048 && durations.quantile(0.9) == 2048)
        #expect(durations.quantile(0.91) == 131_072 && durations.quantile(1) == 131_072)
        histograms.record(1 << 40, in: 0)
        #expect(histograms[0].quantile(1) == .max)
    }
}
