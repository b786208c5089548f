import Glibc
import Posix

/// A type declared or extended in Swift source, found line by line in the layout of swift-format.
struct SourceDeclaration {
    enum Kind: String { case `class`, `struct`, `enum`, `actor`, `extension`, `protocol`, `typealias` }

    let kind: Kind
    /// For an extension of a nested type, the qualified name.
    let name: String
    let file: String

    /// Its directory in `Sources` or `Tests`.
    var target: Substring { file.split(separator: "/")[1] }

    static func programFiles() throws -> [String] {
        try LayeringTests.swiftFiles(in: "Sources")
            .filter { !$0.contains("/chatfs-bench/") }
    }

    static func ofTests() throws -> [SourceDeclaration] {
        try all(in: LayeringTests.swiftFiles(in: "Tests"))
    }

    static func all(in files: [String]) throws -> [SourceDeclaration] { try files.flatMap(all) }

    private static func all(in file: String) throws -> [SourceDeclaration] {
        try DeveloperPages.text(file).utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let (kind, rest) = beginning(of: line), let name = typeName(in: rest) else { return nil }
            return SourceDeclaration(kind: kind, name: name, file: file)
        }
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
