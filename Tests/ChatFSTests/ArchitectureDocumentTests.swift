import Glibc
import Posix
import Testing

@Suite("The tables of docs/architecture.md say what is there")
struct ArchitectureDocumentTests {
    private static func text(_ path: String) throws -> String {
        let file = try OpenFile(LayeringTests.root + "/" + path, flags: O_RDONLY)
        return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
    }

    /// Of the program: not the measurements, nor the core that they and the tests play with.
    private static func source() throws -> String {
        try LayeringTests.swiftFiles(in: "Sources")
            .filter { !$0.contains("/chatfs-bench/") && !$0.contains("/ScriptedCore/") }
            .map(text).joined(separator: "\n")
    }

    /// The rows of the table below a heading, by cells.
    private static func table(_ heading: String) throws -> [[Substring]] {
        let lines = try text("docs/architecture.md").split(separator: "\n", omittingEmptySubsequences: false)
        let part = lines.drop { $0 != "## " + heading }.dropFirst().prefix { !$0.hasPrefix("## ") }
        let rows = part.filter { $0.hasPrefix("| ") }.dropFirst()
        return rows.map { $0.split(separator: "|").map { $0[...] } }
    }

    /// What stands between backquotes.
    private static func words(_ cell: Substring) -> [String] {
        cell.matches(of: /`([^`]+)`/).map { String($0.1) }
    }

    @Test("every source file that a page for developers names is there")
    func files() throws {
        for page in ["docs/architecture.md", "docs/contributing.md"] {
            // Of tests and of what contrib needs a page names the whole path; of the program the one in Sources.
            let path = /`([A-Za-z][A-Za-z+\/]*\/[A-Za-z+]+\.swift)`/
            let named = try Self.text(page).matches(of: path).map { $0.1 }
            #expect(named.count >= 5, "\(page) was not understood")
            for path in named {
                let isThere = ["/", "/Sources/"].contains {
                    access(LayeringTests.root + $0 + path, F_OK) == 0
                }
                #expect(isThere, "\(page) names \(path)")
            }
        }
    }

    @Test(
        "every type that a page names is in the source",
        arguments: ["architecture", "contributing", "cores", "security", "semantics", "control"])
    func types(page: String) throws {
        let named = try Self.text("docs/\(page).md").matches(of: /`([A-Z][A-Za-z]*[a-z][A-Za-z]*)[`.(]/)
            .map { String($0.1) }
        #expect(page != "architecture" || named.count > 200, "the page was not understood")
        // Tests and fuzz targets are named too, and parts of types by the files that they lie in.
        let paths = try LayeringTests.swiftFiles(in: "Sources") + LayeringTests.swiftFiles(in: "Tests")
        let texts = try paths.map(Self.text) + paths
        func isLetter(_ byte: UInt8) -> Bool {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        }
        var known: Set<String> = []
        for text in texts {
            for word in text.utf8.split(whereSeparator: { !isLetter($0) })
            where UInt8(ascii: "A")...UInt8(ascii: "Z") ~= word.first! {
                known.insert(String(Substring(word)))
            }
        }
        #expect(Set(named).subtracting(known) == [])
    }

    @Test("every seam is a protocol, and what stands behind it in the program is a type")
    func seams() throws {
        let source = try Self.source()
        let rows = try Self.table("Seams")
        #expect(rows.count >= 6, "the table was not understood")
        for row in rows {
            for name in Self.words(row[0]) {
                let isThere = source.contains("protocol \(name)") || source.contains("typealias \(name) =")
                #expect(isThere, "there is no protocol \(name)")
            }
            for name in Self.words(row[1]) {
                let isThere = ["class", "struct", "actor", "enum"].contains {
                    source.contains("\($0) \(name)")
                }
                #expect(isThere, "there is no type \(name)")
            }
        }
    }

    @Test("every thread that the source names is in the table, and the table names no other")
    func threads() throws {
        let source = try Self.source()
        var named = Set(
            source.matches(of: /Thread\.(?:start|begin)\(\s*"([a-z-]+)"/).map { String($0.1) }
                + source.matches(of: /threads: \("([a-z-]+)", "([a-z-]+)"\)/).flatMap {
                    ["\($0.1)", "\($0.2)"]
                }
                + source.matches(of: /ThreadPool\(\s*name: "([a-z-]+)"/).map { String($0.1) })
        #expect(named.count > 10, "the source was not understood")
        let cells = try Self.table("Threads").map { String($0[0]) }
        for name in named.sorted() {
            #expect(cells.contains { $0.contains(name) }, "the thread \(name) is in no row of the table")
        }
        // Of the system, or described by what they are.
        named.formUnion(["main", "libfuse", "cooperative pool"])
        for cell in cells {
            #expect(named.contains { cell.contains($0) }, "no thread of the source is meant by \(cell)")
        }
    }
}
