import Glibc
import Posix
import Testing

@testable import Desktop
@testable import chatfs

@Suite("docs/reference/control-socket.md")
struct ControlDocumentTests {
    private static func text() throws -> String {
        let file = try OpenFile(LayeringTests.root + "/docs/reference/control-socket.md", flags: O_RDONLY)
        return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
    }

    /// Words in backquotes in the first column of a section's table.
    private static func names(in section: String) throws -> Set<String> {
        let lines = try text().split(separator: "\n").drop { $0 != "## \(section)" }.dropFirst()
        let cells = lines.prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("| `") }
            .compactMap { $0.split(separator: "|").first }
        return Set(cells.flatMap { $0.matches(of: /`([a-z_]+)`/).map { String($0.1) } })
    }

    @Test("tables of the control socket are complete")
    func tables() throws {
        #expect(try Self.names(in: "Methods") == Set(ControlMethod.allCases.map(\.rawValue)))
        #expect(try Self.names(in: "Errors") == Set(ProgramErrorCode.allCases.map(\.rawValue)))
        #expect(try Self.names(in: "Events") == Set(ProgramEvent.Kind.allCases.map(\.rawValue)))
    }

    @Test("examples of the control socket are valid")
    func examples() throws {
        // Only JSON lines begin with a brace.
        let lines = try Self.text().split(separator: "\n").map(String.init).filter { $0.hasPrefix("{") }
        #expect(lines.count >= 7)
        for line in lines {
            let bytes = Array(line.utf8)
            // Encoding it again gives the same members, so none is misspelt.
            let again =
                if line.contains("\"method\"") {
                    try Self.encodedAgain(bytes)
                } else if line.contains("\"event\"") {
                    try JSONLine.encoded(JSONLine.decoded(ProgramEvent.self, from: bytes))
                } else if line.contains("\"chatfs\"") {
                    try JSONLine.encoded(JSONLine.decoded(ControlGreeting.self, from: bytes))
                } else {
                    try JSONLine.encoded(JSONLine.decoded(ControlAnswer<ItemAnswer>.self, from: bytes))
                }
            #expect(again == line)
        }
    }

    /// Decodes and encodes a request for an item.
    private static func encodedAgain(_ line: [UInt8]) throws -> String {
        let id = try #require(try JSONLine.decoded(ControlHead.self, from: line).id)
        let request = try JSONLine.decoded(ItemRequest.self, from: line)
        return try JSONLine.encoded(ControlCall(id: id, request: request))
    }
}
