import TestSupport
import Testing

@Suite("Circles of files")
struct CircleTests {
    private struct Circle: Hashable, CustomStringConvertible {
        var target: String
        var files: [String]

        var description: String { "\(target): \(files.joined(separator: ", "))" }
    }

    /// The rows of docs/dev/circles.md, with their reasons.
    private static func explained() throws -> [(circle: Circle, why: Substring)] {
        let lines = try LayeringTests.text("docs/dev/circles.md").split(separator: "\n")
        return lines.compactMap { line in
            guard let row = line.wholeMatch(of: /\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \|/) else { return nil }
            let files = row.2.matches(of: /`([^`]+)`/).map { String($0.1) }
            return (Circle(target: String(row.1), files: files.sorted()), row.3)
        }
    }

    private static func found() throws -> Set<Circle> {
        var found: Set<Circle> = []
        for (target, module) in try LayeringTests.modules() {
            var files: [String: String] = [:]
            for path in try LayeringTests.swiftFiles(in: module.folder) {
                let name = String(path.split(separator: "/").last?.dropLast(".swift".count) ?? "")
                #expect(files[name] == nil, "two files of \(target) are called \(name)")
                files[name] = try LayeringTests.text(path)
            }
            found.formUnion(FileCircles(files).circles.map { Circle(target: target, files: $0) })
        }
        return found
    }

    @Test("docs/dev/circles.md is complete")
    func table() throws {
        let rows = try Self.explained()
        #expect(!rows.isEmpty, "the table was not understood")
        let explained = Set(rows.map(\.circle))
        #expect(explained.count == rows.count, "a circle has two rows")
        let found = try Self.found()
        #expect(found.subtracting(explained) == [], "files need each other, and nothing says why")
        #expect(explained.subtracting(found) == [], "these are no circles any more")
        for row in rows {
            #expect(row.why.split(separator: " ").count >= 5, "\(row.circle) is not explained")
        }
    }

    @Test("mutual references form a circle")
    func types() {
        #expect(
            FileCircles([
                "Bell": "struct Bell { let rope: Rope }",
                "Rope": "final class Rope { func ring() { Hand.pull() } }",
                "Hand": "enum Hand { static func pull() -> Bell? { nil } }",
                "Tower": "struct Tower { let bell: Bell }",
            ]).circles == [["Bell", "Hand", "Rope"]])
        #expect(FileCircles(["Bell": "struct Bell { var other: [Bell] }"]).circles == [])
    }

    @Test("extensions' members count for their file")
    func extensions() {
        let parts = [
            "Bell": "struct Bell { let rope: Rope }",
            "Rope": "struct Rope { var knot = Bell.Knot(); let length = Bell.length }",
        ]
        let knots = "extension Bell { struct Knot {}; static let length = 3 }"
        // The extension's file needs the extended type's file, which needs the extension's member.
        #expect(
            FileCircles(parts.merging(["Bell+Knot": knots]) { $1 }).circles == [
                ["Bell", "Bell+Knot", "Rope"]
            ])
        let alone = parts.merging(["Bell": "struct Bell {}", "Bell+Knot": knots]) { $1 }
        #expect(FileCircles(alone).circles == [])
        // Also unqualified.
        #expect(
            FileCircles(["Bell": "struct Bell { var knot: Knot }", "Bell+Knot": knots]).circles == [
                ["Bell", "Bell+Knot"]
            ])
    }

    @Test("comments and strings are ignored")
    func words() {
        let rope = "struct Rope { let bell: Bell }"
        for harmless in [
            "// Rope", "/* Rope */", "let text = \"Rope\"", "let text = \"\"\"\n    \"Rope\"\n    \"\"\"",
            "let text = #\"\"Rope\" \\(Rope.self)\"#", "private struct Rope {}; let rope: Rope",
            "let rope = Other.Rope()",
        ] {
            #expect(FileCircles(["Bell": "struct Bell {}\n" + harmless, "Rope": rope]).circles == [])
        }
        for need in ["let text = \"a \\(Rope.self)\"", "let text = #\"a \\#(Rope.self)\"#"] {
            #expect(FileCircles(["Bell": "struct Bell {}\n" + need, "Rope": rope]).circles.count == 1)
        }
    }
}
