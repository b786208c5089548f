import Base

/// What a value on the command line may be. Checked while parsing, before anything is done.
public enum ValueType: Sendable {
    case text
    /// A path; completions offer files.
    case file
    /// A path; completions offer folders.
    case folder
    /// A whole number in the range.
    case integer(ClosedRange<Int>)
    /// `10gb`, `512kb`, `65536`.
    case byteCount
    /// `500ms`, `1s`, `5m`, `48h`, `7d`.
    case duration
    /// One of these words.
    case choice([String])
    /// A text for which completions offer what `PROGRAM complete LIST -- WORDS` prints, a line each. The words are those
    /// that stand before it.
    case listed(String)

    /// What is wrong with `text`, or nil.
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

/// Times as they are written on the command line: a whole number and `ms`, `s`, `m`, `h` or `d`.
public enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// The duration, or nil when `text` is none or longer than some 292 million years.
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
}
