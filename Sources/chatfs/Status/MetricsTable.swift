import Base
import Metrics

/// Metrics as lines for people: a table of the kernel's operations, then one line for each other value.
enum MetricsTable {
    static func lines(_ families: [MetricFamily]) -> [String] {
        let (byOperation, others) = (families.filter(isOfRequests), families.filter { !isOfRequests($0) })
        let values = others.flatMap { family in family.samples.map { line(of: $0, family) } }
        return aligned(operations(byOperation)) + [""] + aligned(values + hitRate(others))
    }

    /// The share of reads that waited for nothing; empty without reads.
    private static func hitRate(_ families: [MetricFamily]) -> [[String]] {
        let reads = families.first { $0.name == "chatfs_cache_reads" }?.samples ?? []
        let total = reads.reduce(0) { $0 + ($1.value ?? 0) }
        let hits = reads.first { $0.labels["result"] == "hit" }?.value ?? 0
        return total > 0 ? [["cache hit rate", "\(hits * 100 / total) %"]] : []
    }

    private static func isOfRequests(_ family: MetricFamily) -> Bool {
        family.name.hasPrefix("chatfs_request")
    }

    private static func operations(_ families: [MetricFamily]) -> [[String]] {
        let requests = numbers(families, "chatfs_requests")
        let pending = numbers(families, "chatfs_requests_pending")
        let failed = numbers(families, "chatfs_request_failures")
        var durations: [String: DurationHistogram] = [:]
        for sample in families.first(where: { $0.kind == .histogram })?.samples ?? [] {
            durations[sample.labels["operation"] ?? ""] = sample.durations
        }
        let head = ["operation", "requests", "pending", "failed", "50 %", "90 %", "99 %"]
        return [head]
            + requests.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { operation, count in
                [operation, "\(count)", "\(pending[operation] ?? 0)", "\(failed[operation] ?? 0)"]
                    + [0.5, 0.9, 0.99].map { durations[operation]?.quantile($0).map(duration) ?? "-" }
            }
    }

    /// Values by operation, summed over other labels.
    private static func numbers(_ families: [MetricFamily], _ name: String) -> [String: UInt64] {
        let samples = families.first { $0.name == name }?.samples ?? []
        return Dictionary(samples.map { ($0.labels["operation"] ?? "", $0.value ?? 0) }, uniquingKeysWith: +)
    }

    private static func line(of sample: MetricFamily.Sample, _ family: MetricFamily) -> [String] {
        let labels = sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let value = sample.value ?? 0
        let name = family.name.split(separator: "_").dropFirst().joined(separator: " ")
        return [
            ([name] + labels).joined(separator: " "),
            family.unit == .bytes ? ByteCount.rounded(value) : "\(value)",
        ]
    }

    /// Formats nanoseconds with two digits: `16 µs`, `1.0 ms`.
    static func duration(_ nanoseconds: UInt64) -> String {
        let units: [(name: String, size: UInt64)] = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)]
        guard nanoseconds < .max else { return "> 69 s" }
        let unit = units.first { nanoseconds >= $0.size } ?? ("µs", 1000)
        let tenths = nanoseconds / (unit.size / 10)
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(unit.name)" : "\(tenths / 10) \(unit.name)"
    }

    /// Pads the first column to the right and the others to the left.
    private static func aligned(_ rows: [[String]]) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }.joined(separator: "  ")
        }
    }
}
