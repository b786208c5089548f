import ChatCore

/// Text of others as one line that is what it looks like.
enum PlainText {
    /// Without line breaks, spaces at either end, control characters, characters that nobody sees or that change the
    /// direction of text, and with at most `limit` bytes of UTF-8.
    static func line(_ text: String, limit: Int) -> String {
        // What is cut away anyway is not looked at; a scalar has four bytes at most, and few are dropped.
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

    /// `text` with at most `limit` bytes, cut between characters, with `…` where something is missing.
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

    /// For the markup of notifications: what could be read as a tag or an entity is not.
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
