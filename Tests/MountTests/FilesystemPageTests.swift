import Glibc
import Posix
import TestSupport
import Testing

/// Performs the tables of `docs/reference/filesystem.md` on a real mount. A row without an action here, or an action
/// without a row, fails too.
@Suite("Tables of docs/reference/filesystem.md", .serialized)
struct FilesystemPageTests {
    private static let page = "docs/reference/filesystem.md"

    /// The rows of the first table below a heading, as cells.
    ///
    /// - Parameter page: The path in the repository.
    static func rows(of page: String, below heading: String) throws -> [[String]] {
        // The unprivileged user may have no access to the clone; contrib/test makes a copy.
        let copy = getenv("CHATFS_REPOSITORY").map { String(cString: $0) }
        let root = copy ?? #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let file = try OpenFile(root + "/" + page, flags: O_RDONLY)
        let lines = String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0 == "## " + heading })
        let section = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
        return section.filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
            line.replacing("\\|", with: "\u{1}").split(separator: "|").map {
                String($0.trimming { $0 == " " }).replacing("\u{1}", with: "|")
            }
        }
    }

    @Test("every refusal matches the table")
    func refusals() async throws {
        let stage = try await DemoStage.start()
        let deeds = Refusals(stage).deeds
        let rows = try Self.rows(of: Self.page, below: "Refused")
        #expect(Set(rows.map { $0[0] }) == Set(deeds.keys))
        for row in rows {
            guard let deed = deeds[row[0]] else { continue }
            #expect(Refusals.name(of: deed()) == row[1], "\(row[0])")
        }
        #expect(try await stage.process.terminate() == .code(0))
    }

    @Test("every tool sends its bytes in one message")
    func tools() async throws {
        let stage = try await DemoStage.start()
        let source = try stage.folder.makeFolder("source")
        for (number, row) in try Self.rows(of: Self.page, below: "Tools").enumerated() {
            let name = "from tool \(number).bin"
            let bytes = (0..<(300_000 + number)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
            // As most files are; 0600 would request a writable sent file.
            chmod(try stage.folder.write(bytes, to: "source/" + name), 0o644)
            let line = row[1].trimming { $0 == "`" }
            for _ in 0..<(row[0].hasSuffix("twice") ? 2 : 1) {
                let copy = try await Shell.script(
                    line, environment: ["SOURCE": source, "FOLDER": stage.path("alice/bob"), "NAME": name])
                #expect(copy.succeeded, "\(row[0]): \(line): \(copy.errors)")
                let path = stage.path("alice/bob/" + name)
                try await wait(until: "\(row[0]) is sent") {
                    try ["sent", "delivered"].contains(ExtendedAttribute.text("user.chatfs.state", of: path))
                }
            }
            try await wait(until: "\(row[0]) has arrived") {
                access(stage.path("bob/alice/" + name), F_OK) == 0
            }
            #expect(try stage.read("bob/alice/" + name) == bytes, "\(row[0])")
        }
        let received = try PrivateFolder.names(in: OpenFile(stage.path("bob/alice"), flags: O_RDONLY))
        let tools = try Self.rows(of: Self.page, below: "Tools").count
        #expect(received.filter { $0.contains("from tool") }.count == tools)
        #expect(try await stage.process.terminate() == .code(0))
    }
}

extension StringProtocol {
    /// Removes matching characters at both ends.
    func trimming(_ fits: (Character) -> Bool) -> String {
        var text = self[...]
        while let first = text.first, fits(first) { text.removeFirst() }
        while let last = text.last, fits(last) { text.removeLast() }
        return String(text)
    }
}
