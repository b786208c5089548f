import Metrics

/// Counters and latencies of the requests of a mount, by operation. Thread-safe; a request takes no lock.
public final class RequestMetrics: Sendable {
    let counts = RequestCounts()
    let failures = FailureLog()
    private let durations = DurationHistograms(count: RequestCounts.indices)

    public init() {}

    /// Number of requests since the mount.
    public var total: UInt64 { counts.total }

    /// Records that a request was read.
    func begin(_ operation: UInt32) { counts.note(operation) }

    /// Records the time from reading a request to sending its reply.
    func end(_ span: RequestSpan) {
        durations.record(span.age, in: RequestCounts.index(of: span.operation))
    }

    /// The metrics of the operations that were requested at least once.
    public var families: [MetricFamily] {
        var ended: [String: DurationHistogram] = [:]
        for index in 0..<RequestCounts.indices {
            let more = durations[index]
            guard more.total > 0 else { continue }
            ended[RequestCounts.name(at: index), default: DurationHistogram()].add(more)
        }
        // Read last: a request that has ended has begun.
        let begun = counts.named.sorted { $0.key < $1.key }
        return [
            MetricFamily(
                "chatfs_requests", .counter, "Requests of the kernel.",
                begun.map { MetricFamily.Sample($0.value, ["operation": $0.key]) }),
            MetricFamily(
                "chatfs_requests_pending", .gauge, "Requests without a reply so far.",
                begun.map { name, count in
                    let ended = ended[name]?.total ?? 0
                    return MetricFamily.Sample(count > ended ? count - ended : 0, ["operation": name])
                }),
            MetricFamily(
                "chatfs_request_failures", .counter, "Failed requests, without errors of the caller.",
                failureSamples),
            MetricFamily(
                "chatfs_request_duration_seconds", .histogram, unit: .seconds,
                "Time from reading a request to sending its reply.",
                ended.sorted { $0.key < $1.key }.map { MetricFamily.Sample($0.value, ["operation": $0.key]) }),
        ]
    }

    private var failureSamples: [MetricFamily.Sample] {
        failures.counts.sorted { $0.key < $1.key }.flatMap { operation, counts in
            counts.sorted { $0.key < $1.key }.map { error, count in
                MetricFamily.Sample(count, ["operation": operation, "error": error])
            }
        }
    }
}
