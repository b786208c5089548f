/// The severity of a line, with the numbers of syslog and of systemd's `<6>` prefixes.
public enum LogLevel: Int, CaseIterable, Comparable, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    /// The life of a mount in about twenty lines.
    case info = 6
    case debug = 7

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// Reads `error`, `warning`, `notice`, `info` (also `information`, its earlier name) or `debug`.
    public init?(word: String) {
        let word = word == "information" ? "info" : word
        guard let level = Self.allCases.first(where: { "\($0)" == word }) else { return nil }
        self = level
    }
}
