import ChatCore

/// Makes harmless text of other people's text.
enum PlainText {
    /// Returns one line without leading or trailing spaces, control characters, invisible characters and changes of
    /// text direction, with at most `limit` bytes of UTF-8.
    static func line(_ text: String, limit: Int) -> String {
        // Skips text beyond the limit: a scalar has at most four bytes, and few are dropped.
        let scalars = text.unicodeScalars.prefix(16 * limit).lazy.map {
            $0.properties.isWhitespace ? " " : $0
        }
        .filter { !isDropped($0) }
        var line: [Unicode.Scalar] = []
        for scalar in VisibleText.removingInvisible(Array(scalars)) where scalar != " " || line.last != " " {
            line.append(scalar)
        }
        if line.last == " " { line.removeLast() }
        let whole = String(scalars: line.drop { $0 == " " })
        return shortened(whole, to: limit)
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
        default: scalar.properties.isBidiControl || scalar.properties.isNoncharacterCodePoint
        }
    }

    /// Shortens `text` to at most `limit` bytes at a character boundary, with `…` in place of the rest.
    static func shortened(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        let mark = "…"
        let kept = limit - mark.utf8.count
        var (result, length) = ("", 0)
        for character in text {
            length += character.utf8.count
            guard length <= kept else { break }
            result.append(character)
        }
        return result + mark
    }

    /// Escapes text for the markup of notifications.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
