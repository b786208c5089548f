/// This computer's name on the phone.
public struct DeviceName: Hashable, Sendable {
    /// Longer names would leave no space for the rest of a link in an announcement.
    public static let longest = 64
    public let text: String

    /// Returns the name in a form for links. Removes control characters, replaces `+` and `%`, which the phone would
    /// decode again, by their wide forms, and cuts at 64 bytes between characters. "Computer" if nothing is left.
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
