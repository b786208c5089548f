import Glibc
import Posix
import TestSupport
import Testing

@Suite("Printing of foreign names")
struct PrintedNamesTests {
    /// Moves the cursor, sets the window's title, starts a line, and reverses the text.
    private static let hostile = "bob\u{1B}[2J\u{1B}]0;x\u{7}\nmallory\u{202E}"
    private static let shown = #"bob\u{1b}[2J\u{1b}]0;x\u{7}\u{a}mallory\u{202e}"#

    /// Two plain profiles. One has such names for the other's chat and their group, stored as received from the
    /// network.
    private func directory(_ folder: TemporaryFolder) async throws -> [String] {
        let data = ["--data", folder.path("chatfs")]
        for words in [
            ["profile", "create", "alice", "--no-encryption"], ["profile", "create", "bob"],
            ["connect", "alice", "bob"], ["group", "create", "club", "alice", "bob"],
        ] {
            let outcome = try await ChatFSProcess.run(words + data)
            try #require(outcome.succeeded, "\(outcome.errors)")
        }
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            database.execute("UPDATE chat SET alias = ? WHERE kind != 'notes'", (sys.argv[2],))
            database.commit()
            database.close()
            """
        let outcome = try await Shell.run(
            "python3", ["-c", script, folder.path("chatfs/chatfs.db"), Self.hostile])
        try #require(outcome.succeeded, "\(outcome.errors)")
        return data + ["--profile", "alice"]
    }

    @Test("lists escape names, one per line")
    func lists() async throws {
        let folder = try TemporaryFolder()
        let data = try await directory(folder)
        for words in [["contact", "list"], ["group", "list"], ["storage", "show"]] {
            let outcome = try await ChatFSProcess.run(words + data)
            #expect(outcome.succeeded, "\(outcome.errors)")
            #expect(outcome.output.contains(Self.shown), "\(words): \(outcome.output.debugDescription)")
            let isPlain = outcome.output.unicodeScalars.allSatisfy {
                $0 == "\n" || $0.properties.generalCategory != .control && !$0.properties.isBidiControl
            }
            #expect(isPlain, "\(words): \(outcome.output.debugDescription)")
        }
        let listed = try await ChatFSProcess.run(["contact", "list"] + data)
        #expect(listed.output == Self.shown + "\n")
    }

    @Test("errors and questions escape names")
    func refusals() async throws {
        let folder = try TemporaryFolder()
        let data = try await directory(folder)
        for words in [
            ["contact", "leave", Self.hostile + "?"], ["contact", "verify", Self.hostile],
            ["contact", "renew", Self.hostile], ["contact", "move", Self.hostile],
            ["contact", "delete", Self.hostile],
        ] {
            let outcome = try await ChatFSProcess.run(words + data)
            #expect(!outcome.succeeded && outcome.output == "", "\(words) \(outcome.output)")
            #expect(!outcome.errors.unicodeScalars.contains("\u{1B}"), "\(outcome.errors.debugDescription)")
            #expect(!outcome.errors.unicodeScalars.contains("\u{202E}"))
        }
        let moved = try await ChatFSProcess.run(["contact", "move", "@99"] + data)
        #expect(moved.ending == .code(1) && moved.errors.hasPrefix("chatfs: "), "\(moved.errors)")
    }
}
