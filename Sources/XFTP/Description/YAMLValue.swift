/// A value of the subset of YAML in which file descriptions are written.
indirect enum YAMLValue: Equatable {
    /// A scalar without quotes may mean a number, a truth value or nothing; with quotes it is text.
    case scalar(String, isPlain: Bool)
    case mapping([Entry])
    case sequence([YAMLValue])
    case nothing

    struct Entry: Equatable {
        let key: String
        let value: YAMLValue
    }

    /// The text, nil when the value is no text (`65536` without quotes is a number).
    var text: String? {
        guard case .scalar(let text, let isPlain) = self else { return nil }
        return isPlain && Self.resolvesToOther(text) ? nil : text
    }

    /// The number, written without quotes as decimal digits.
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

    /// Words that YAML 1.1 reads as truth value or nothing, in lower case.
    private static let words: Set<String> = [
        "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n",
    ]

    /// Whether a scalar without quotes means something else than its text, so that a writer who
    /// means the text must put quotes around it.
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
