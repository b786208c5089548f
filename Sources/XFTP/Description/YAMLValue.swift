/// A value of the YAML subset of file descriptions.
indirect enum YAMLValue: Equatable {
    /// A scalar. Without quotes it may be a number, a truth value or null; with quotes it is text.
    case scalar(String, isPlain: Bool)
    case mapping([Entry])
    case sequence([YAMLValue])
    case nothing

    struct Entry: Equatable {
        let key: String
        let value: YAMLValue
    }

    /// The text, or nil for other values (`65536` without quotes is a number).
    var text: String? {
        guard case .scalar(let text, let isPlain) = self else { return nil }
        return isPlain && Self.resolvesToOther(text) ? nil : text
    }

    /// The number, if it consists of decimal digits without quotes.
    var number: UInt64? {
        guard case .scalar(let text, isPlain: true) = self,
            text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return UInt64(text)
    }

    var items: [YAMLValue]? {
        guard case .sequence(let items) = self else { return nil }
        return items
    }

    subscript(key: String) -> YAMLValue? {
        guard case .mapping(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The words that YAML 1.1 reads as truth values or null, in lower case.
    private static let words: Set<String> = [
        "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n",
    ]

    /// Returns whether YAML reads the unquoted text as another value, so that text needs quotes.
    static func resolvesToOther(_ text: String) -> Bool {
        if text.utf8.count <= 5, words.contains(text.lowercased()) { return true }
        var rest = Substring(text)
        if rest.hasPrefix("0x") || rest.hasPrefix("0o") {
            return rest.count > 2 && rest.dropFirst(2).allSatisfy { $0.isASCII && $0.isHexDigit }
        }
        if let sign = rest.first, sign == "-" || sign == "+" { rest = rest.dropFirst() }
        func dropDigits() -> Bool {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            return !digits.isEmpty
        }
        guard dropDigits() else { return false }
        if rest.first == "." {
            rest = rest.dropFirst()
            guard dropDigits() else { return false }
        }
        if let mark = rest.first, mark == "e" || mark == "E" {
            rest = rest.dropFirst()
            if let sign = rest.first, sign == "-" || sign == "+" { rest = rest.dropFirst() }
            guard dropDigits() else { return false }
        }
        return rest.isEmpty
    }
}
