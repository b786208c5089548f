import Base

/// Writes JSON for commands and messages. The text never contains a line break or NUL.
public enum JSONText {
    public static func string(_ value: String) -> String {
        QuotedText.quote(value, isShort: true) { scalar in
            switch scalar {
            case "\u{7F}"..<"\u{A0}", "\u{2028}", "\u{2029}": true
            default: false
            }
        }
    }

    /// Writes members in the given order. The values are JSON.
    public static func object(_ members: KeyValuePairs<String, String>) -> String {
        "{" + members.map { string($0.key) + ":" + $0.value }.joined(separator: ",") + "}"
    }

    /// Writes the members with values.
    public static func object(present members: KeyValuePairs<String, String?>) -> String {
        let pairs = members.compactMap { member in member.value.map { string(member.key) + ":" + $0 } }
        return "{" + pairs.joined(separator: ",") + "}"
    }

    public static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }
}
