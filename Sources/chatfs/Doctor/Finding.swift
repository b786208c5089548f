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
        /// `--fix` has changed it.
        case fixed
        /// It is there and does not work.
        case failed
    }

    /// A change that loses nothing and needs no decision.
    struct Remedy: Sendable {
        /// What `--fix` reports when it is done.
        var done: String
        var apply: @Sendable () async throws -> Void
    }

    var kind: Kind
    var text: String
    /// Names of persons, hosts and places in the text, which a report for others leaves out.
    var names: [String] = []
    /// What `--fix` does about it.
    var remedy: Remedy?

    static func good(_ text: String, naming names: [String] = []) -> Finding {
        Finding(kind: .good, text: text, names: names)
    }
    static func note(_ text: String, naming names: [String] = []) -> Finding {
        Finding(kind: .note, text: text, names: names)
    }
    static func failed(_ text: String, naming names: [String] = []) -> Finding {
        Finding(kind: .failed, text: text, names: names)
    }
    static func bad(_ text: String, naming names: [String] = []) -> Finding {
        Finding(kind: .bad, text: text, names: names)
    }

    /// The same with a remedy.
    func fixed(_ done: String, by apply: @escaping @Sendable () async throws -> Void) -> Finding {
        var finding = self
        finding.remedy = Remedy(done: done, apply: apply)
        return finding
    }

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
