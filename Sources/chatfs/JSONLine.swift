/// Small JSON objects of texts (RFC 8259).
enum JSONLine {
    /// On one line, in the order given.
    static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(quoted($0.name)):\(quoted($0.value))" }.joined(separator: ",") + "}"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
