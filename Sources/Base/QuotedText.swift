/// Quoted strings of JSON (RFC 8259) and TOML 1.0.
public enum QuotedText {
    /// Escapes `"`, `\` and control characters below U+0020.
    /// - Parameters:
    ///   - isShort: Whether line feed, carriage return and tab are `\n`, `\r` and `\t`, not `\uXXXX`.
    ///   - isEscaped: Whether a scalar from U+0020 to U+FFFF is escaped too.
    public static func quote(
        _ text: String, isShort: Bool, alsoEscaping isEscaped: (Unicode.Scalar) -> Bool = { _ in false }
    ) -> String {
        var result = "\""
        result.reserveCapacity(text.utf8.count + 2)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n" where isShort: result += "\\n"
            case "\r" where isShort: result += "\\r"
            case "\t" where isShort: result += "\\t"
            case "\u{0}"..<"\u{20}": result += escape(scalar)
            default:
                if isEscaped(scalar) {
                    result += escape(scalar)
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }

    /// Returns `\uXXXX` for a scalar up to U+FFFF.
    public static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
