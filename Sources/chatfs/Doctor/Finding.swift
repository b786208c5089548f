import Base
import CommandLineKit
import Glibc
import Posix

/// One thing that was looked at, with what to do about it when it is not as it should be.
struct Finding: Sendable {
    enum Kind: String, Sendable {
        case good = "ok"
        /// Works, but is worth knowing.
        case note
        /// ChatFS cannot work like this.
        case bad = "missing"
        /// It is there and does not work.
        case failed
    }

    var kind: Kind
    var text: String

    static func good(_ text: String) -> Finding { Finding(kind: .good, text: text) }
    static func note(_ text: String) -> Finding { Finding(kind: .note, text: text) }
    static func failed(_ text: String) -> Finding { Finding(kind: .failed, text: text) }
    static func bad(_ text: String) -> Finding { Finding(kind: .bad, text: text) }

    /// Whether something does not work because of it.
    var isBad: Bool { kind == .bad || kind == .failed }

    /// The system's own words where a connection failed, else the whole sentence.
    static func reason(of error: any Error) -> String {
        var next: (any Error)? = error
        while let cause = next {
            if let system = cause as? SystemError {
                let words = String(cString: strerror(system.code))
                return words.prefix(1).lowercased() + words.dropFirst()
            }
            next = (cause as? any DescribedError)?.cause
        }
        return sentence(of: error)
    }

    /// As a line of JSON.
    var json: String { JSONLine.object([("kind", kind.rawValue), ("text", text)]) }

    /// As a line of the report; names in it may be those that others chose.
    var line: String {
        kind.rawValue + String(repeating: " ", count: 9 - kind.rawValue.utf8.count)
            + PrintableText.escaping(text)
    }
}
