import TestSupport
import Testing

@testable import Metrics

@Suite("The OpenMetrics text form")
struct OpenMetricsTextTests {
    @Test("counters and gauges have labels and a unit")
    func values() throws {
        let text = OpenMetricsText.of([
            MetricFamily(
                "chatfs_requests", .counter, "Requests.",
                [
                    MetricFamily.Sample(3, ["operation": "read"]),
                    MetricFamily.Sample(0, ["operation": "open"]),
                ]),
            MetricFamily(
                "chatfs_cache_bytes", .gauge, unit: .bytes, "Bytes.", [MetricFamily.Sample(1 << 40)]),
        ])
        #expect(
            text == """
                # TYPE chatfs_requests counter
                # HELP chatfs_requests Requests.
                chatfs_requests_total{operation="read"} 3
                chatfs_requests_total{operation="open"} 0
                # TYPE chatfs_cache_bytes gauge
                # UNIT chatfs_cache_bytes bytes
                # HELP chatfs_cache_bytes Bytes.
                chatfs_cache_bytes 1099511627776
                # EOF

                """)
        #expect(try OpenMetricsDocument(text).values["chatfs_cache_bytes"] == 1_099_511_627_776)
    }

    @Test("a histogram has cumulative buckets, count and sum")
    func histogram() throws {
        let histograms = DurationHistograms(count: 1)
        for nanoseconds: UInt64 in [1000, 1500, 1 << 40] { histograms.record(nanoseconds, in: 0) }
        let text = OpenMetricsText.of([
            MetricFamily(
                "chatfs_duration_seconds", .histogram, unit: .seconds, "Time.",
                [MetricFamily.Sample(histograms[0], ["operation": "read"])])
        ])
        let values = try OpenMetricsDocument(text).values
        let bucket = { (bound: String) in
            values["chatfs_duration_seconds_bucket{operation=\"read\",le=\"\(bound)\"}"]
        }
        #expect(bucket("1.024e-06") == 1 && bucket("2.048e-06") == 2 && bucket("68.719476736") == 2)
        #expect(bucket("+Inf") == 3)
        #expect(values["chatfs_duration_seconds_count{operation=\"read\"}"] == 3)
        #expect(values["chatfs_duration_seconds_sum{operation=\"read\"}"] == 1099.511630276)
    }

    @Test("special characters are escaped")
    func escaping() throws {
        let text = OpenMetricsText.of([
            MetricFamily("a", .gauge, "A \"b\"\\\n.", [MetricFamily.Sample(1, ["c": "\"d\"\\\n"])])
        ])
        #expect(text.contains("# HELP a A \\\"b\\\"\\\\\\n.\n"))
        #expect(text.contains("a{c=\"\\\"d\\\"\\\\\\n\"} 1\n"))
        _ = try OpenMetricsDocument(text)
    }

    @Test("no family is a valid document")
    func nothing() throws {
        #expect(OpenMetricsText.of([]) == "# EOF\n")
        #expect(try OpenMetricsDocument("# EOF\n").values.isEmpty)
    }

    @Test(
        "the checker refuses invalid documents",
        arguments: [
            "", "a 1\n# EOF\n", "# TYPE a counter\na 1\n# EOF\n", "# TYPE a gauge\na 1\n",
            "# TYPE a gauge\na 1\n\n# EOF\n", "# TYPE a gauge\na 1\na 1\n# EOF\n",
            "# TYPE a gauge\na{b=c} 1\n# EOF\n", "# TYPE a gauge\n# TYPE a gauge\n# EOF\n",
            "# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n",
            "# TYPE a gauge\n# UNIT a bytes\n# EOF\n",
            "# TYPE a histogram\na_bucket{le=\"2.0\"} 1\na_bucket{le=\"1.0\"} 2\n# EOF\n",
            "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_count 2\n# EOF\n",
        ])
    func refused(text: String) {
        #expect(throws: WaitedInVain.self) { try OpenMetricsDocument(text) }
    }
}
