extension Unicode.Scalar {
    /// True for characters that a terminal may obey or that reorder the text around them: control characters (C0, DEL,
    /// C1), line and paragraph separators, and bidirectional controls (UAX #9).
    public var isDisplayControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: properties.isBidiControl
        default: false
        }
    }
}

/// JSON that is safe to print on a terminal.
public enum PrintableJSON {
    /// Returns the same JSON with display controls in its strings as `\uXXXX`.
    ///
    /// Line breaks and tabs between values stay. JSON allows no other of these characters outside strings, and none of
    /// them is above U+FFFF.
    public static func escaping(_ json: String) -> String {
        guard json.unicodeScalars.contains(where: isEscaped) else { return json }
        var result = String.UnicodeScalarView()
        for scalar in json.unicodeScalars {
            if isEscaped(scalar) {
                result.append(contentsOf: QuotedText.escape(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isDisplayControl && scalar != "\n" && scalar != "\t" && scalar != "\r"
    }
}
