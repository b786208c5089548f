import Base

/// The type of a value, checked during parsing, before any action.
public enum ValueType: Sendable {
    case text
    /// A path; completions offer files.
    case file
    /// A path; completions offer directories.
    case folder
    /// An integer in the range.
    case integer(ClosedRange<Int>)
    /// A size in bytes: `10gb`, `512kb`, `65536`.
    case byteCount
    /// A duration: `500ms`, `1s`, `5m`, `48h`, `7d`.
    case duration
    /// One of these words.
    case choice([String])
    /// A text for which completions offer the lines of `PROGRAM complete LIST -- WORDS`, where WORDS are the preceding
    /// words.
    case listed(String)

    /// Returns the reason that `text` is invalid, or nil.
    public func complaint(about text: String) -> String? {
        switch self {
        case .text, .listed: return nil
        case .file, .folder: return text.isEmpty ? "a path cannot be empty" : nil
        case .integer(let range):
            guard let value = Int(text), range.contains(value) else {
                return range.upperBound == .max
                    ? "expected a whole number from \(range.lowerBound) on"
                    : "expected a whole number from \(range.lowerBound) to \(range.upperBound)"
            }
            return nil
        case .byteCount:
            return ByteCount.parse(text) == nil ? "expected a size such as 65536, 512kb or 10gb" : nil
        case .duration:
            return DurationText.parse(text) == nil ? "expected a time such as 500ms, 1s, 5m, 48h or 7d" : nil
        case .choice(let words):
            return words.contains(text) ? nil : "expected " + Self.list(words)
        }
    }

    static func list(_ words: [String]) -> String {
        words.count < 2
            ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
    }
}

/// Durations on the command line: an integer with `ms`, `s`, `m`, `h` or `d`.
public enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Returns nil if `text` is invalid or exceeds 292 million years.
    public static func parse(_ text: String) -> Duration? {
        if text == "0" { return .zero }
        for (suffix, unit) in units where text.hasSuffix(suffix) {
            let digits = text.dropLast(suffix.count)
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int64(digits)
            else { return nil }
            let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit)
            return overflow ? nil : .milliseconds(milliseconds)
        }
        return nil
    }

    /// Returns the largest exact unit, but hours up to two days: 48 hours are `48h`. Ignores parts of milliseconds.
    static func exact(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        for (suffix, unit) in units.reversed()
        where milliseconds % unit == 0 && (suffix != "d" || milliseconds > 2 * unit) {
            return "\(milliseconds / unit)\(suffix)"
        }
        return "\(milliseconds)ms"
    }
}
