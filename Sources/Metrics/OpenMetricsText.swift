/// The text form of OpenMetrics 1.0, which Prometheus and its node exporter read
/// (github.com/prometheus/OpenMetrics, "Text format").
public enum OpenMetricsText {
    /// Encodes families in their order. Ends with `# EOF`.
    public static func of(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            if let unit = family.unit { text += "# UNIT \(family.name) \(unit.rawValue)\n" }
            text += "# HELP \(family.name) \(escaped(family.help))\n"
            for sample in family.samples { add(sample, of: family, to: &text) }
        }
        return text + "# EOF\n"
    }

    private static func add(
        _ sample: MetricFamily.Sample, of family: MetricFamily, to text: inout String
    ) {
        let labels = sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }
        guard let durations = sample.durations else {
            let suffix = family.kind == .counter ? "_total" : ""
            text += line(family.name + suffix, labels, "\(sample.value ?? 0)")
            return
        }
        var count: UInt64 = 0
        for (bucket, more) in durations.counts.enumerated() {
            count &+= more
            let bound = DurationHistogram.bound(of: bucket).map(seconds) ?? "+Inf"
            text += line(family.name + "_bucket", labels + ["le=\"\(bound)\""], "\(count)")
        }
        text += line(family.name + "_count", labels, "\(count)")
        text += line(family.name + "_sum", labels, seconds(durations.nanoseconds))
    }

    private static func line(_ name: String, _ labels: [String], _ value: String) -> String {
        labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels.joined(separator: ","))} \(value)\n"
    }

    private static func seconds(_ nanoseconds: UInt64) -> String { "\(Double(nanoseconds) / 1e9)" }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
