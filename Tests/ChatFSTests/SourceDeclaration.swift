import Glibc
import Posix

/// A type declared or extended in Swift source, found line by line in the layout of swift-format.
struct SourceDeclaration {
    enum Kind: String { case `class`, `struct`, `enum`, `actor`, `extension`, `protocol`, `typealias` }

    let kind: Kind
    /// For an extension of a nested type, the qualified name.
    let name: String
    let file: String
    /// nil for nested types.
    var lineCount: Int?

    /// Its directory in `Sources` or `Tests`.
    var target: Substring { file.split(separator: "/")[1] }

    static func programFiles() throws -> [String] {
        try LayeringTests.swiftFiles(in: "Sources")
            .filter { !$0.contains("/chatfs-bench/") }
    }

    static func ofProgram() throws -> [SourceDeclaration] { try all(in: programFiles()) }

    static func ofTests() throws -> [SourceDeclaration] {
        try all(in: LayeringTests.swiftFiles(in: "Tests"))
    }

    static func all(in files: [String]) throws -> [SourceDeclaration] { try files.flatMap(all) }

    private static func all(in file: String) throws -> [SourceDeclaration] {
        let lines = try DeveloperPages.text(file).utf8
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var all: [SourceDeclaration] = []
        for (number, line) in lines.enumerated() {
            guard let (kind, rest) = beginning(of: line), let name = typeName(in: rest) else { continue }
            var count: Int?
            if line.first != UInt8(ascii: " ") {
                let end =
                    line.last == UInt8(ascii: "}")
                    ? 0 : lines[number...].firstIndex { $0.first == UInt8(ascii: "}") }
                count = max((end ?? number) - number, 0) + 1
            }
            all.append(SourceDeclaration(kind: kind, name: name, file: file, lineCount: count))
        }
        return all
    }

    private static let modifiers: Set<Substring> = [
        "public", "package", "private", "fileprivate", "final", "indirect", "nonisolated", "open",
    ]

    /// Returns the kind of declaration that a line begins, and the following text.
    private static func beginning(of line: Substring.UTF8View) -> (Kind, String)? {
        let text = line.drop { $0 == UInt8(ascii: " ") }
        guard let first = text.first,
            first == UInt8(ascii: "@") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= first
        else { return nil }
        var rest = Substring(text)
        if rest.hasPrefix("@") {
            // Skips an attribute with an argument.
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

    /// Parses the name behind the kind.
    private static func typeName(in rest: String) -> String? {
        let name = rest.drop { $0 == " " }
            .prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        return name.first?.isUppercase == true ? String(name) : nil
    }
}
