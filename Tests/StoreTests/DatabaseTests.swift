import Base
import Glibc
import Posix
import Store
import Testing

@Suite struct DatabaseTests {
    let folder = ScratchFolder()

    @Test func valuesOfEachTypeRoundTrip() throws {
        let database = try folder.database()
        let text = "naïve \u{1F600} a\0b"
        try database.transaction { connection in
            try connection.execute("INSERT INTO folder (id, name) VALUES (1, ?)", "")
            try connection.execute(
                "INSERT INTO note (folder, text, content, size, weight) VALUES (?, ?, ?, ?, ?)",
                1, text, [0, 255, 7] as [UInt8], UInt64.max, 2.5)
            try connection.execute(
                "INSERT INTO note (folder, text, content, size, weight) VALUES (?, ?, ?, ?, ?)",
                1, nil, [] as [UInt8], Timestamp(seconds: 9), SQLValue.null)
        }
        let rows = try database.read {
            try $0.query("SELECT text, content, size, weight FROM note ORDER BY id") { row in
                (
                    row.textOrNil("text"), row.bytesOrNil("content"), row.unsigned("size"),
                    row.real("weight"),
                    row.isNull("weight")
                )
            }
        }
        #expect(rows.count == 2)
        #expect(rows[0].0 == text)
        #expect(rows[0].1 == [0, 255, 7])
        #expect(rows[0].2 == .max)
        #expect(rows[0].3 == 2.5)
        #expect(rows[1].0 == nil)
        #expect(rows[1].1 == [])
        #expect(rows[1].2 == 9_000_000_000)
        #expect(rows[1].4)
    }

    @Test func closedDatabaseLeavesOneFileAndThrows() throws {
        let database = try folder.database()
        try database.transaction { connection in
            try connection.execute("INSERT INTO folder (id, name) VALUES (1, 'a')")
        }
        database.close()
        database.close()
        #expect(access(folder.path + "/notes.db-wal", F_OK) != 0)
        #expect(throws: StoreError.self) { try database.count("folder") }
        #expect(throws: StoreError.self) { try database.checkpoint() }
        #expect(try folder.database().count("folder") == 1)
    }

    @Test func isInTransactionIsPerThread() throws {
        let database = try folder.database()
        #expect(!database.isInTransaction)
        try database.read { _ in
            #expect(database.isInTransaction)
            let answer = Monitor<Bool?>(nil)
            Thread.start("other") {
                let seen = database.isInTransaction
                answer.change { $0 = seen }
            }
            #expect(!answer.wait { $0 })
        }
        #expect(!database.isInTransaction)
    }

    @Test func throwingTransactionRollsBack() throws {
        struct Change: Error {}
        let database = try folder.database()
        #expect(throws: Change.self) {
            try database.transaction { connection in
                try connection.execute("INSERT INTO folder (name) VALUES ('a')")
                throw Change()
            }
        }
        #expect(try database.count("folder") == 0)
        try database.transaction { try $0.execute("INSERT INTO folder (name) VALUES ('b')") }
        #expect(try database.count("folder") == 1)
    }

    @Test func durableTransactionsSyncEventualDatabases() throws {
        let database = try folder.database(durability: .eventual)
        let setting = { (connection: Connection) in
            try connection.first("PRAGMA synchronous") { $0.integer("synchronous") }
        }
        #expect(try database.durableTransaction(setting) == 2)
        #expect(try database.transaction(setting) == 1)
        struct Change: Error {}
        #expect(throws: Change.self) { try database.durableTransaction { _ in throw Change() } }
        #expect(try database.transaction(setting) == 1)
    }

    @Test func statementCanRunInsideItsOwnRows() throws {
        let database = try folder.database()
        let pairs = try database.transaction { connection in
            for name in ["a", "b"] { try connection.execute("INSERT INTO folder (name) VALUES (?)", name) }
            return try connection.query("SELECT name FROM folder ORDER BY name") { outer in
                outer.text("name")
                    + (try connection.query("SELECT name FROM folder ORDER BY name") {
                        $0.text("name")
                    }).joined()
            }
        }
        #expect(pairs == ["aab", "bab"])
    }

    @Test func violatedRulesAreConstraintErrors() throws {
        let database = try folder.database()
        func code(_ sql: String) -> StoreError.Code? {
            do {
                try database.transaction { try $0.execute(sql) }
                return nil
            } catch {
                return (error as? StoreError)?.code
            }
        }
        #expect(code("INSERT INTO folder (id, name) VALUES (1, 'a')") == nil)
        #expect(code("INSERT INTO folder (name) VALUES ('a')") == .constraint)
        #expect(code("INSERT INTO note (folder) VALUES (99)") == .constraint)
        #expect(code("INSERT INTO nowhere VALUES (1)") == .invalidStatement)
        #expect(code("INSERT INTO folder (name) VALUES (?)") == .invalidStatement)
        #expect(code("") == .invalidStatement)
    }

    @Test func filesBecomePrivate() throws {
        let path = folder.path + "/notes.db"
        do {
            let database = try folder.database()
            try database.transaction { try $0.execute("INSERT INTO folder (name) VALUES ('a')") }
            for suffix in ["", "-wal", "-shm"] {
                #expect(try OpenFile(path + suffix, flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
            }
        }
        chmod(path, 0o644)
        _ = try folder.database()
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func checkpointRemovesDeletedBytes() throws {
        let secret = [UInt8](repeating: 0, count: 9000).indices.map {
            UInt8(truncatingIfNeeded: $0 &* 37 &+ 11)
        }
        let database = try folder.database()
        try database.transaction { connection in
            try connection.execute("INSERT INTO folder (id, name) VALUES (1, 'a')")
            try connection.execute("INSERT INTO note (folder, content) VALUES (1, ?)", secret)
        }
        try database.checkpoint()
        #expect(try holds(Array(secret[..<64])))
        try database.transaction { try $0.execute("DELETE FROM note") }
        try database.checkpoint()
        #expect(try !holds(Array(secret[..<64])))
        #expect(try !holds(Array(secret[4500..<4564])))
    }

    private func holds(_ needle: [UInt8]) throws -> Bool {
        try ["", "-wal"].contains { suffix in
            let bytes = try OpenFile(folder.path + "/notes.db" + suffix, flags: O_RDONLY)
                .readAll(limit: 1 << 24)
            return bytes.indices.contains { bytes[$0...].starts(with: needle) }
        }
    }

    @Test func transactionsOfManyThreadsAreSerialized() async throws {
        let database = try folder.database()
        try database.transaction { try $0.execute("INSERT INTO folder (id, name) VALUES (1, 'a')") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        try database.transaction { connection in
                            let count = try connection.first("SELECT count(*) AS count FROM note") {
                                $0.integer("count")
                            }
                            try connection.execute(
                                "INSERT INTO note (folder, size) VALUES (1, ?)", count)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let distinct = try database.read {
            try $0.first("SELECT count(DISTINCT size) AS count FROM note") { $0.integer("count") }
        }
        #expect(distinct == 200)
    }
}
