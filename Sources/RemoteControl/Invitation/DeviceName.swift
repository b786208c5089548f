/// This computer's name as the phone shows it.
public struct DeviceName: Hashable, Sendable {
    /// Longer names would not leave space for the rest of a link in an announcement.
    public static let longest = 64
    public let text: String

    /// The name without what a link cannot carry: control characters go, `+` and `%`, which the phone would decode a
    /// second time, become their wide forms, and what is beyond 64 bytes is cut off between characters. "Computer"
    /// where nothing is left.
    public init(_ name: String) {
        var cleaned = ""
        for character in name {
            var next = ""
            for scalar in character.unicodeScalars {
                switch scalar {
                case "+": next += "\u{FF0B}"
                case "%": next += "\u{FF05}"
                case "\u{00}"..<"\u{20}", "\u{7F}"..<"\u{A0}", "\u{2028}", "\u{2029}": continue
                default: next.unicodeScalars.append(scalar)
                }
            }
            guard cleaned.utf8.count + next.utf8.count <= Self.longest else { break }
            cleaned += next
        }
        text = cleaned.allSatisfy(\.isWhitespace) ? "Computer" : cleaned
    }
}
