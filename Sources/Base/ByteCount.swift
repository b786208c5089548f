/// Sizes in bytes as people and the official formats write them: `64kb`, `4mb`, `10gb`, binary
/// multiples, or a plain number.
public enum ByteCount {
    private static let units: [(suffix: String, bytes: UInt64)] = [
        ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10),
    ]

    /// The value of `10gb`, `512kb`, `65536` or `65536b`, or nil. Case does not matter.
    public static func parse(_ text: some StringProtocol) -> UInt64? {
        let lower = text.lowercased()
        for (suffix, bytes) in units where lower.hasSuffix(suffix) {
            guard let number = digits(lower.dropLast(2)) else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: bytes)
            return overflow ? nil : product
        }
        return digits(lower.hasSuffix("b") ? lower.dropLast() : Substring(lower))
    }

    private static func digits(_ text: Substring) -> UInt64? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? UInt64(text) : nil
    }

    /// The largest exact unit, as file descriptions write sizes (simplexmq `FileSize`): 65536 is `64kb`.
    public static func exact(_ bytes: UInt64) -> String {
        for (suffix, unit) in units where bytes > 0 && bytes % unit == 0 { return "\(bytes / unit)\(suffix)" }
        return "\(bytes)"
    }

    /// For people: `1.4 MB`, `900 B`, decimal multiples as file managers show them.
    public static func rounded(_ bytes: UInt64) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = ""
        for name in ["kB", "MB", "GB", "TB"] where value >= 1000 {
            value /= 1000
            unit = name
        }
        let tenths = Int((value * 10).rounded())
        return tenths >= 1000 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
