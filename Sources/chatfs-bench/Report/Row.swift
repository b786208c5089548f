/// A figure of the report and its reference.
struct Row: Sendable {
    /// The identifier of the figure: `first-byte`. Rows that differ only in the reference share it.
    let name: String
    /// The title.
    let title: String
    let unit: Unit
    /// One value for each repetition.
    let samples: [Double]
    var reference: Reference?
    var target: Target?

    init(
        _ name: String, _ title: String, _ unit: Unit, _ samples: [Double],
        beside reference: Reference? = nil,
        target: Target? = nil
    ) {
        self.name = name
        self.title = title
        self.unit = unit
        self.samples = samples
        self.reference = reference
        self.target = target
    }

    var value: Double { Self.median(samples) }

    /// The value divided by the reference's.
    var ratio: Double? {
        guard let reference, reference.value > 0 else { return nil }
        return value / reference.value
    }

    /// Returns the middle value, or the mean of the two middle ones.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

/// The same work by another program, alternating with ours.
struct Reference: Sendable {
    /// Its name: "plain filesystem".
    let name: String
    let samples: [Double]

    var value: Double { Row.median(samples) }

    init(_ name: String, _ samples: [Double]) {
        self.name = name
        self.samples = samples
    }
}
