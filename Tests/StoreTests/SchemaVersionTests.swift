import Base
import Glibc
import Posix
import Store
import Testing

@Suite struct SchemaVersionTests {
    let folder = ScratchFolder()
    private let colour = Migration(
        "colour", "ALTER TABLE folder ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")

    @Test func olderDatabaseIsMigratedWithItsContent() throws {
        do {
            let old = try folder.database([notes])
            try old.transaction { try $0.execute("INSERT INTO folder (name) VALUES ('a')") }
        }
        for _ in 0..<2 {
            let new = try folder.database([notes, colour])
            let rows = try new.read {
                try $0.query("SELECT name, colour FROM folder") { $0.text("name") + $0.text("colour") }
            }
            #expect(rows == ["ablue"])
        }
    }

    @Test func newerDatabaseIsRejectedUnchanged() throws {
        _ = try folder.database([notes, colour])
        let error = #expect(throws: StoreError.self) { try folder.database([notes]) }
        #expect(error?.code == .wrongVersion)
        #expect(error?.sentence.contains("newer version") == true)
        _ = try folder.database([notes, colour])
    }

    private let dropping = Migration("final", "ALTER TABLE folder DROP COLUMN colour", isFinal: true)

    private func copies() throws -> [String] {
        try PrivateFolder.names(in: OpenFile(folder.path, flags: O_RDONLY)).filter { $0.contains("-before-") }
    }

    @Test func irreversibleMigrationLeavesACopy() throws {
        try folder.database([notes, colour]).transaction {
            try $0.execute("INSERT INTO folder (name, colour) VALUES ('a', 'red')")
        }
        // The remains of an attempt by a killed process.
        try OpenFile(folder.path + "/notes-before-final.db", flags: O_WRONLY | O_CREAT, mode: 0o600)
            .write([1, 2, 3], at: 0)
        _ = try folder.database([notes, colour, dropping])
        #expect(try copies().filter { $0.hasSuffix(".db") } == ["notes-before-final.db"])
        let before = try Database(
            path: folder.path + "/notes-before-final.db", migrations: [notes, colour])
        let rows = try before.read { try $0.query("SELECT colour FROM folder") { $0.text("colour") } }
        #expect(rows == ["red"])
        before.close()
        // One copy is enough.
        for name in try copies() { unlink(folder.path + "/" + name) }
        _ = try folder.database([notes, colour, dropping])
        #expect(try copies() == [])
    }

    @Test func migrationWithoutConsentChangesNothing() throws {
        _ = try folder.database([notes, colour])
        let error = #expect(throws: StoreError.self) {
            try Database(
                path: folder.path + "/notes.db", migrations: [notes, colour, dropping], consent: .missing)
        }
        #expect(error?.code == .wrongVersion && error?.sentence.contains("--confirm-migration") == true)
        #expect(try copies() == [])
        _ = try folder.database([notes, colour])
        // A new database needs no consent.
        _ = try Database(
            path: folder.path + "/new.db", migrations: [notes, colour, dropping], consent: .missing)
        #expect(try copies() == [])
    }

    @Test func migrationCopyExpiresAfterAWeek() throws {
        let directory = try OpenFile(folder.path, flags: O_RDONLY)
        _ = try OpenFile("notes-before-final.db", flags: O_WRONLY | O_CREAT, mode: 0o600, in: directory)
        _ = try OpenFile("notes-before-noon.txt", flags: O_WRONLY | O_CREAT, mode: 0o600, in: directory)
        let now = SystemWallClock().now()
        MigrationCopy.sweep(directory, now: now.advanced(by: .seconds(6 * 86_400)))
        #expect(try copies().count == 2)
        MigrationCopy.sweep(directory, now: now.advanced(by: .seconds(8 * 86_400)))
        #expect(try copies() == ["notes-before-noon.txt"])
    }

    private let first = Migration(
        "notes 0.1", notes.script, replaces: DevelopmentSchema(steps: 2, last: "colour"))

    @Test func developmentDatabaseIsAdopted() throws {
        let old = [notes, Migration("colour", "INSERT INTO folder (name) VALUES ('a')")]
        _ = try folder.database(old)
        for _ in 0..<2 {
            let rows = try folder.database([first]).read { connection in
                try connection.query(
                    "SELECT f.name AS name, v.number AS number, v.name AS step FROM folder f, schema_version v"
                ) {
                    "\($0.text("name")) \($0.integer("number")) \($0.text("step"))"
                }
            }
            #expect(rows == ["a 1 notes 0.1"])
        }
        let error = #expect(throws: StoreError.self) { try folder.database(old) }
        #expect(error?.code == .wrongVersion)
    }

    @Test func adoptedDatabaseTakesLaterSteps() throws {
        _ = try folder.database([notes, Migration("colour", "INSERT INTO folder (name) VALUES ('a')")])
        let steps = [first, colour, dropping]
        let error = #expect(throws: StoreError.self) {
            try Database(path: folder.path + "/notes.db", migrations: steps, consent: .missing)
        }
        #expect(error?.code == .wrongVersion && error?.sentence.contains("--confirm-migration") == true)
        #expect(try folder.database(steps).count("folder") == 1)
        #expect(try copies().contains("notes-before-final.db"))
    }

    @Test(arguments: [1, 3])
    func otherDevelopmentDatabasesAreRejected(count: Int) throws {
        let names = ["notes", "colour", "size"].prefix(count)
        let old = names.map { Migration($0, $0 == "notes" ? notes.script : "") }
        _ = try folder.database(old)
        let error = #expect(throws: StoreError.self) { try folder.database([first]) }
        #expect(error?.code == .wrongVersion && error?.sentence.contains("another version") == true)
        _ = try folder.database(old)
    }

    @Test func databaseOfAnotherHistoryIsRejected() throws {
        _ = try folder.database([notes])
        let error = #expect(throws: StoreError.self) { try folder.database([colour]) }
        #expect(error?.code == .wrongVersion)
    }

    @Test func failedMigrationChangesNothing() throws {
        _ = try folder.database([notes])
        let broken = Migration(
            "broken", "CREATE TABLE extra (id INTEGER) STRICT; INSERT INTO nowhere VALUES (1)")
        #expect(throws: StoreError.self) { try folder.database([notes, broken]) }
        let database = try folder.database([notes])
        #expect(try database.read { try !$0.exists("SELECT 1 FROM sqlite_schema WHERE name = 'extra'") })
    }

    @Test(arguments: ["not a database at all", String(repeating: "SQLite format 3\0", count: 600)])
    func otherFilesAreDamagedDatabases(content: String) throws {
        try OpenFile(folder.path + "/notes.db", flags: O_WRONLY | O_CREAT).write(Array(content.utf8), at: 0)
        let error = #expect(throws: StoreError.self) { try folder.database() }
        #expect(error?.code == .damaged)
    }

    @Test func linksAndFoldersAreRejected() throws {
        symlink("/etc/passwd", folder.path + "/notes.db")
        #expect(throws: StoreError.self) { try folder.database() }
        unlink(folder.path + "/notes.db")
        mkdir(folder.path + "/notes.db", 0o700)
        let error = #expect(throws: StoreError.self) { try folder.database() }
        #expect(error?.code == .notAllowed)
    }
}
