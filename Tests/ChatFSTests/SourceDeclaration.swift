import Glibc
import Posix

/// A type that Swift source declares or extends, found line by line: enough for what swift-format has laid out.
struct SourceDeclaration {
    enum Kind: String { case `class`, `struct`, `enum`, `actor`, `extension`, `protocol`, `typealias` }

    let kind: Kind
    /// Of an extension of a nested type, the whole of it.
    let name: String
    /// What stands behind the colon, in front of the brace.
    let inherited: Set<String>
    let file: String
    /// Nil of what stands within another type.
    var lineCount: Int?

    /// Of the program: not the measurements, nor the core that they and the tests play with.
    /// Its folder in `Sources` or `Tests`.
    var target: Substring { file.split(separator: "/")[1] }

    static func programFiles() throws -> [String] {
        try LayeringTests.swiftFiles(in: "Sources")
            .filter { !$0.contains("/chatfs-bench/") && !$0.contains("/ScriptedCore/") }
    }

    static func ofProgram() throws -> [SourceDeclaration] { try all(in: programFiles()) }

    static func ofTests() throws -> [SourceDeclaration] {
        try all(in: LayeringTests.swiftFiles(in: "Tests"))
    }

    static func all(in files: [String]) throws -> [SourceDeclaration] { try files.flatMap(all) }

    private static func all(in file: String) throws -> [SourceDeclaration] {
        let lines = try ArchitecturePage.text(file).utf8
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var all: [SourceDeclaration] = []
        for (number, line) in lines.enumerated() {
            guard let (kind, rest) = beginning(of: line) else { continue }
            // The head may go on for some lines.
            var head = rest
            for next in lines[(number + 1)...].prefix(8) where !head.contains("{") && kind != .typealias {
                head += " " + String(Substring(next))
            }
            guard let (name, inherited) = parts(of: head.prefix { $0 != "{" }) else { continue }
            var count: Int?
            if line.first != UInt8(ascii: " ") {
                let end =
                    line.last == UInt8(ascii: "}")
                    ? 0 : lines[number...].firstIndex { $0.first == UInt8(ascii: "}") }
                count = max((end ?? number) - number, 0) + 1
            }
            all.append(
                SourceDeclaration(kind: kind, name: name, inherited: inherited, file: file, lineCount: count))
        }
        return all
    }

    private static let modifiers: Set<Substring> = [
        "public", "package", "private", "fileprivate", "final", "indirect", "nonisolated", "open",
    ]

    /// Which declaration a line begins, and what follows the word for it.
    private static func beginning(of line: Substring.UTF8View) -> (Kind, String)? {
        let text = line.drop { $0 == UInt8(ascii: " ") }
        guard let first = text.first,
            first == UInt8(ascii: "@") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= first
        else { return nil }
        var rest = Substring(text)
        if rest.hasPrefix("@") {
            // Of an attribute with an argument, from behind that on.
            let name = rest.prefix { $0 != " " && $0 != "(" }
            rest = rest.dropFirst(name.count)
            if rest.hasPrefix("("), let end = rest.lastIndex(of: ")") { rest = rest[end...].dropFirst() }
        }
        while true {
            rest = rest.drop { $0 == " " }
            let word = rest.prefix { $0 != " " }
            rest = rest.dropFirst(word.count)
            if modifiers.contains(word) { continue }
            guard let kind = Kind(rawValue: String(word)) else { return nil }
            return (kind, String(rest))
        }
    }

    /// A name and what it inherits, from what follows the word for a declaration.
    private static func parts(of head: Substring) -> (String, Set<String>)? {
        let text = head.drop { $0 == " " }
        let name = text.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        guard name.first?.isUppercase == true else { return nil }
        var rest = text.dropFirst(name.count)
        if rest.hasPrefix("<") { rest = rest.drop { $0 != ">" } }
        guard let colon = rest.firstIndex(of: ":") else { return (String(name), []) }
        let words = rest[colon...].split { !($0.isLetter || $0.isNumber) }.prefix { $0 != "where" }
        return (String(name), Set(words.map(String.init)))
    }
}
