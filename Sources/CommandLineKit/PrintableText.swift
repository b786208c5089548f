import Base

/// Text as a terminal can show it.
public enum PrintableText {
    /// With control characters, and those that change the direction of text, as `\u{…}`: a name must not move
    /// the cursor or pose as another line. Tabs stay.
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

    /// With the few characters that our own texts have beyond ASCII replaced, for terminals without them.
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
