import Base

/// Makes text safe for terminals.
public enum PrintableText {
    /// Escapes control characters and changes of text direction as `\u{…}`, so that a name cannot move the cursor or
    /// imitate another line. Keeps tabs.
    public static func escaping(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isDisplayControl && scalar != "\t"
    }

    /// Replaces the non-ASCII characters of our own texts, for terminals without them.
    static func ascii(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "…": result.append(contentsOf: "...".unicodeScalars)
            case "—", "–": result.append("-")
            case "█": result.append("#")
            case "░": result.append(".")
            case "’", "‘": result.append("'")
            case "·", "•": result.append("*")
            case "→": result.append(contentsOf: "->".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
