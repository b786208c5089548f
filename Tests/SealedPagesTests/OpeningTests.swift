import Base
import Cryptography
import Glibc
import Posix
import Testing

@testable import SealedPages
@testable import Store

@Suite struct OpeningTests {
    let folder = SealedFolder()

    private func code(key: SecretBytes?) -> StoreError.Code? {
        #expect(throws: StoreError.self) { try folder.open(key: key) }?.code
    }

    @Test func contentSurvivesReopening() throws {
        try folder.open().put(1, "first", size: 20_000)
        let database = try folder.open()
        #expect(try database.texts() == ["first"])
        #expect(try database.integrity() == ["ok"])
    }

    @Test func fileIsPrivateToTheUser() throws {
        _ = try folder.open()
        #expect(try OpenFile(folder.database, flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
    }

    @Test func namesMayContainURICharacters() throws {
        for name in ["a b?mode=ro&x#y%41", "ünï.db", "?chatfs-opening=9"] {
            let path = folder.path + "/" + name
            try Database(path: path, migrations: [notes], key: folder.key).put(1, name)
            #expect(access(path, F_OK) == 0)
            #expect(try Database(path: path, migrations: [notes], key: folder.key).texts() == [name])
        }
    }

    @Test func wrongKeyDiffersFromDamage() throws {
        try folder.open().put(1, "first")
        #expect(code(key: SecretBytes(randomCount: 32)) == .wrongKey)
        let whole = try Files.read(folder.database)
        try Files.write(Array(whole[..<5000]), to: folder.database)
        #expect(code(key: folder.key) == .damaged)
        try Files.write([], to: folder.database)
        #expect(code(key: folder.key) == .notADatabase)
        try Files.write([UInt8](repeating: 7, count: 20_000), to: folder.database)
        #expect(code(key: folder.key) == .notADatabase)
        var newer = whole
        newer[16] = 2
        try Files.write(newer, to: folder.database)
        #expect(code(key: folder.key) == .damaged)
        try Files.write(whole, to: folder.database)
        #expect(try folder.open().texts() == ["first"])
    }

    @Test func databaseCutToWholePagesIsDamaged() throws {
        try folder.open().put(1, "first", size: 100_000)
        let whole = try Files.read(folder.database)
        for pages in 2..<whole.count / 4096 {
            try Files.write(Array(whole[..<(pages * 4096)]), to: folder.database)
            let code = code(key: folder.key)
            #expect(code == .damaged || code == .damagedPage, "\(pages)")
        }
    }

    @Test func plainDatabaseRejectsAKey() throws {
        try folder.open(key: nil).put(1, "first")
        #expect(code(key: folder.key) == .notEncrypted)
        #expect(try folder.open(key: nil).texts() == ["first"])
    }

    @Test func sealedDatabaseNeedsAKey() throws {
        try folder.open().put(1, "first")
        let before = try Files.read(folder.database)
        #expect(code(key: nil) == .encrypted)
        #expect(try Files.read(folder.database) == before)
        #expect(try folder.open().texts() == ["first"])
    }

    @Test func concurrentCreationGivesOneDatabase() async throws {
        let folder = folder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await ThreadPool.shared.run { try folder.open().put(number, "\(number)") }
                }
            }
            try await group.waitForAll()
        }
        #expect(try folder.open().texts() == (0..<8).map { "\($0)" })
    }

    @Test func databasesDeriveDifferentKeys() throws {
        let first = NewDatabase.content(dataKey: folder.key)
        let second = NewDatabase.content(dataKey: folder.key)
        #expect(Array(first[4096...]) != Array(second[4096...]))
        // The first page of one database in the other.
        try Files.write(Array(first[..<4096]) + Array(second[4096...]), to: folder.database)
        #expect(code(key: folder.key) == .damagedPage)
    }

    @Test func strayJournalIsIgnored() throws {
        try folder.open().put(1, "first")
        try Files.write([UInt8](repeating: 0xd9, count: 5000), to: folder.database + "-journal")
        #expect(try folder.open().texts() == ["first"])
    }

    @Test func foreignLogIsIgnoredByANewDatabase() throws {
        let other = SealedFolder()
        let database = try other.open()
        try database.put(1, "other")
        let log = try Files.read(other.log)
        try #require(log.count > 4096)
        try Files.write(log, to: folder.log)
        #expect(try folder.open().texts() == [])
    }

    /// From 64 KiB on, SQLite spills the undo log of a statement to a file.
    @Test func largeStatementIsRolledBackFromMemory() throws {
        let database = try folder.open()
        for id in 0..<200 { try database.put(id, "before", size: 3000) }
        try database.transaction { connection in
            try connection.execute("INSERT INTO note (id, text) VALUES (1000, 'kept')")
            #expect(throws: StoreError.self) {
                try connection.execute(
                    "UPDATE note SET id = CASE id WHEN 199 THEN 0 ELSE id END, text = 'after',"
                        + " content = randomblob(3000) WHERE id <> 0")
            }
        }
        #expect(try database.texts() == [String](repeating: "before", count: 200) + ["kept"])
        #expect(try database.integrity() == ["ok"])
    }

    @Test func vacuumFreesSpaceAndStaysSealed() throws {
        let database = try folder.open()
        for id in 0..<100 { try database.put(id, "text-to-keep", size: 10_000) }
        try database.transaction { try $0.execute("DELETE FROM note WHERE id > 5") }
        let raw = try Connection(path: folder.database, key: folder.key)
        try raw.executeScript("PRAGMA temp_store = MEMORY; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try OpenFile(folder.database, flags: O_RDONLY).size() < 120_000)
        #expect(try !Files.read(folder.database).contains(mark: "text-to-keep"))
        #expect(try database.texts().count == 6)
        #expect(try database.integrity() == ["ok"])
    }

    @Test func otherJournalModesAreRejected() throws {
        let raw = try Connection(path: folder.database, key: folder.key)
        try raw.executeScript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        #expect(throws: StoreError.self) {
            try raw.executeScript("PRAGMA journal_mode = DELETE; INSERT INTO t VALUES (2)")
        }
        #expect(access(folder.database + "-journal", F_OK) != 0)
    }
}
