/// A metric with its samples, in the terms of OpenMetrics. Labels contain neither names nor addresses.
public struct MetricFamily: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable {
        /// Counts up since the mount.
        case counter
        /// A present value.
        case gauge
        /// Counts durations by length.
        case histogram
    }

    public enum Unit: String, Codable, Hashable, Sendable {
        case bytes
        case seconds
    }

    /// A value, or the durations of a histogram.
    public struct Sample: Codable, Hashable, Sendable {
        /// Values of the labels by name.
        public var labels: [String: String]
        public var value: UInt64?
        public var durations: DurationHistogram?

        public init(_ value: UInt64, _ labels: [String: String] = [:]) {
            (self.labels, self.value) = (labels, value)
        }

        public init(_ durations: DurationHistogram, _ labels: [String: String] = [:]) {
            (self.labels, self.durations) = (labels, durations)
        }
    }

    /// Letters, digits and underscores. Ends in the unit if there is one.
    public var name: String
    public var kind: Kind
    public var unit: Unit?
    /// A sentence.
    public var help: String
    public var samples: [Sample]

    public init(
        _ name: String, _ kind: Kind, unit: Unit? = nil, _ help: String, _ samples: [Sample]
    ) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help
        self.samples = samples
    }
}
