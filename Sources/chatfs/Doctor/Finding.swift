import Base
import CommandLineKit
import Glibc
import Posix

/// A result of `chatfs doctor` with its remedy.
struct Finding: Sendable {
    enum Kind: String, Sendable {
        case good = "ok"
        /// A hint; ChatFS works.
        case note
        /// A missing requirement of ChatFS.
        case bad = "missing"
        /// `--fix` has changed it.
        case fixed
        /// Present, but not working.
        case failed
    }

    /// A change that loses no data and needs no decision.
    struct Remedy: Sendable {
        /// Line that `--fix` prints after success.
        var done: String
        var apply: @Sendable () async throws -> Void
    }

    var kind: Kind
    var text: String
    /// Names of persons, hosts and places in the text, which `DoctorReport` replaces.
    var names: [String] = []
    /// The change that `--fix` applies; nil if there is none.
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

    /// Returns the finding with a remedy.
    func fixed(_ done: String, by apply: @escaping @Sendable () async throws -> Void) -> Finding {
        var finding = self
        finding.remedy = Remedy(done: done, apply: apply)
        return finding
    }

    /// True if the finding makes `chatfs doctor` fail.
    var isBad: Bool { kind == .bad || kind == .failed }

    /// Returns the text of the nearest `SystemError`, else the whole sentence.
    static func reason(of error: any Error) -> String {
        guard let system = error.nearest(SystemError.self) else { return sentence(of: error) }
        let words = String(cString: strerror(system.code))
        return words.prefix(1).lowercased() + words.dropFirst()
    }

    /// The finding as one line of JSON.
    var json: String { JSONLine.object([("kind", kind.rawValue), ("text", text)]) }

    /// The finding as a line of text, with unprintable characters escaped.
    var line: String {
        kind.rawValue + String(repeating: " ", count: 9 - kind.rawValue.utf8.count)
            + PrintableText.escaping(text)
    }
}
