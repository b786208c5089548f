import CommandLineKit

/// One thing that was looked at, with what to do about it when it is not as it should be.
struct Finding: Sendable {
    enum Kind: String, Sendable {
        case good = "ok"
        /// Works, but is worth knowing.
        case note
        /// ChatFS cannot work like this.
        case bad = "missing"
    }

    var kind: Kind
    var text: String

    static func good(_ text: String) -> Finding { Finding(kind: .good, text: text) }
    static func note(_ text: String) -> Finding { Finding(kind: .note, text: text) }
    static func bad(_ text: String) -> Finding { Finding(kind: .bad, text: text) }

    /// As a line of the report; names in it may be those that others chose.
    var line: String {
        kind.rawValue + String(repeating: " ", count: 9 - kind.rawValue.utf8.count)
            + PrintableText.escaping(text)
    }
}
