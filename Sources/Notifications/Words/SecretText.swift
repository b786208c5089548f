/// The markup of hidden text in SimpleX messages: `#text#`.
public enum SecretText {
    /// Replaces each hidden text by `…`. Hides more than some apps do: any text between number signs counts unless it
    /// begins or ends with a space.
    public static func hiding(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var rest = Array(text.unicodeScalars)[...]
        while let start = rest.firstIndex(of: "#") {
            result.append(contentsOf: rest[..<start])
            rest = rest[start...]
            let signs = rest.prefix { $0 == "#" }
            let after = rest.dropFirst(signs.count)
            guard let end = after.firstIndex(of: "#") else { break }
            let secret = after[..<end]
            if let first = secret.first, let last = secret.last, first != " ", last != " " {
                result.append("…")
                rest = after[end...].drop { $0 == "#" }
            } else {
                result.append(contentsOf: signs)
                result.append(contentsOf: secret)
                rest = after[end...]
            }
        }
        result.append(contentsOf: rest)
        return String(result)
    }
}
