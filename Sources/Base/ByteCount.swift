/// Sizes in bytes in the form of users and of the official formats: `64kb`, `4mb`, `10gb`, binary multiples, or a plain
/// number.
public enum ByteCount {
    private static let units: [(suffix: String, bytes: UInt64)] = [
        ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10),
    ]

    /// Returns the value of `10gb`, `512kb`, `65536` or `65536b`, or nil. Ignores case.
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

    /// Returns the largest exact unit, as in file descriptions (simplexmq `FileSize`): 65536 is `64kb`.
    public static func exact(_ bytes: UInt64) -> String {
        for (suffix, unit) in units where bytes > 0 && bytes % unit == 0 { return "\(bytes / unit)\(suffix)" }
        return "\(bytes)"
    }

    /// For users: `1.4 MB`, `900 B`, decimal multiples as in file managers; to a tenth below 100, in the unit in which
    /// the rounded number is below 1000.
    public static func rounded(_ bytes: UInt64) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var unit: (name: String, bytes: UInt64) = ("kB", 1000)
        for name in ["MB", "GB", "TB"] where nearest(bytes, unit.bytes) >= 1000 {
            unit = (name, unit.bytes * 1000)
        }
        let tenths = nearest(bytes, unit.bytes / 10)
        return tenths >= 1000
            ? "\(nearest(bytes, unit.bytes)) \(unit.name)" : "\(tenths / 10).\(tenths % 10) \(unit.name)"
    }

    private static func nearest(_ bytes: UInt64, _ unit: UInt64) -> UInt64 {
        let (whole, rest) = bytes.quotientAndRemainder(dividingBy: unit)
        return rest * 2 >= unit ? whole + 1 : whole
    }
}
