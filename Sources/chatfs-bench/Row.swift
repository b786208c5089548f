/// One line of the report.
struct Row: Sendable {
    /// The measure, for JSON: `download`.
    let measure: String
    /// In words: "download of 256 MiB".
    let title: String
    let unit: String
    /// Values of chatfs and, in the same order, of the plain filesystem.
    let samples: [Double]
    let native: [Double]

    init(_ measure: Measure, _ title: String, _ unit: String, _ samples: [Double], native: [Double] = []) {
        self.measure = measure.rawValue
        self.title = title
        self.unit = unit
        self.samples = samples
        self.native = native
    }

    var value: Double { Self.median(samples) }
    var nativeValue: Double? { native.isEmpty ? nil : Self.median(native) }
    /// chatfs divided by native.
    var ratio: Double? { nativeValue.flatMap { $0 > 0 ? value / $0 : nil } }

    /// The middle value; of an even number the mean of the two in the middle.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
