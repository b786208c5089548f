import TestSupport
import Testing

@Suite("Sizes from senders")
struct StorageSizesTests {
    /// A plain profile with three offers of the maximum size in a message, as earlier versions stored them.
    private func directory(_ folder: TemporaryFolder) async throws -> [String] {
        let data = ["--data", folder.path("chatfs")]
        let made = try await ChatFSProcess.run(["profile", "create", "alice", "--no-encryption"] + data)
        try #require(made.succeeded, "\(made.errors)")
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            for number in range(3):
                item = database.execute(
                    "INSERT INTO item (profile, chat, direction, sender, time, created, kind, preview, seconds, text) "
                    "SELECT profile, id, 'received', 'zoe', 1, 2, 'file', '', 0, '' FROM chat WHERE kind = 'notes'"
                ).lastrowid
                database.execute(
                    "INSERT INTO file (profile, item, name, size, transport, status, created) "
                    "SELECT profile, id, 'a.pdf', 9223372036854775807, 'xftp', 'rcv_invitation', 3 FROM item "
                    "WHERE id = ?", (item,))
            database.commit()
            database.close()
            """
        let filled = try await Shell.run("python3", ["-c", script, folder.path("chatfs/chatfs.db")])
        try #require(filled.succeeded, "\(filled.errors)")
        return data + ["--profile", "alice"]
    }

    @Test("overflowing sums do not trap", arguments: [["--json"], []])
    func show(_ options: [String]) async throws {
        let folder = try TemporaryFolder()
        let data = try await directory(folder)
        let outcome = try await ChatFSProcess.run(["storage", "show"] + options + data)
        #expect(outcome.succeeded, "\(outcome.ending) \(outcome.errors)")
        #expect(options.isEmpty || outcome.output.contains("\(UInt64.max)"))
    }
}
