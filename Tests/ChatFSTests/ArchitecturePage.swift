import Glibc
import Posix

/// docs/architecture.md for tests that compare it with the source.
enum ArchitecturePage {
    static func text(_ path: String = "docs/architecture.md") throws -> String {
        let file = try OpenFile(LayeringTests.root + "/" + path, flags: O_RDONLY)
        return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
    }

    /// Returns the rows of the table below a heading, by cell.
    static func table(_ heading: String) throws -> [[Substring]] {
        let lines = try text().split(separator: "\n", omittingEmptySubsequences: false)
        let part = lines.drop { $0 != "## " + heading }.dropFirst().prefix { !$0.hasPrefix("## ") }
        let rows = part.filter { $0.hasPrefix("| ") }.dropFirst()
        return rows.map { $0.split(separator: "|").map { $0[...] } }
    }

    /// Returns the words in backquotes.
    static func words(_ text: some StringProtocol) -> [String] {
        String(text).matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}
