import Base
import Cryptography
import Glibc
import Posix
import Store
import TestSupport
import Testing

/// Several connections and processes on one sealed database, compared with a plain one.
@Suite struct SharingTests {
    let folder = SealedFolder()

    /// One step of a schedule, determined by its number.
    private struct Step {
        let seed: UInt64

        func take(_ connection: Connection) throws {
            var random = SeededGenerator(state: seed)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let id = Int.random(in: 0..<60, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0: try connection.execute("DELETE FROM note WHERE id = ?", id)
                case 1:
                    try connection.execute("DELETE FROM note WHERE id BETWEEN ? AND ?", id, id + 10)
                default:
                    let content = [UInt8](
                        repeating: UInt8(truncatingIfNeeded: seed),
                        count: Int.random(in: 0..<9000, using: &random))
                    try connection.execute(
                        "INSERT INTO note (id, text, content) VALUES (?, ?, ?)"
                            + " ON CONFLICT (id) DO UPDATE SET text = excluded.text, content = excluded.content",
                        id, "\(seed)", content)
                }
            }
        }
    }

    private struct Undone: Error {}

    /// `CHATFS_SEALED_SCHEDULES`: the number of schedules.
    private static let schedules: [UInt64] = {
        let count = getenv("CHATFS_SEALED_SCHEDULES").flatMap { UInt64(String(cString: $0)) }
        return Array(1...max(1, count ?? 4))
    }()

    private static func contents(_ database: Database) throws -> [String] {
        try database.read { connection in
            try connection.query("SELECT id, text, content FROM note ORDER BY id") { row in
                "\(row.integer("id")) \(row.text("text")) \(SHA256.hash(row.bytes("content")))"
            }
        }
    }

    /// Random writers write, roll back, read, checkpoint or reopen the database; a plain database does the same.
    @Test(arguments: schedules)
    func twoWritersMatchAPlainDatabase(_ seed: UInt64) throws {
        let other = SealedFolder()
        var random = SeededGenerator(state: seed)
        var sealed = [try folder.open(), try folder.open(durability: .eventual)]
        let plain = try other.open(key: nil)
        for number in 0..<400 {
            let who = Int.random(in: 0..<2, using: &random)
            let step = Step(seed: seed << 32 | UInt64(number))
            switch Int.random(in: 0..<20, using: &random) {
            case 0: try sealed[who].checkpoint()
            case 1:
                sealed[who].close()
                sealed[who] = try folder.open(durability: who == 0 ? .full : .eventual)
            case 2:
                #expect(throws: Undone.self) {
                    try sealed[who].transaction {
                        try step.take($0)
                        throw Undone()
                    }
                }
            case 3...5: #expect(try Self.contents(sealed[who]) == Self.contents(plain))
            default:
                try sealed[who].transaction { try step.take($0) }
                try plain.transaction { try step.take($0) }
            }
        }
        #expect(try Self.contents(sealed[0]) == Self.contents(plain))
        #expect(try Self.contents(sealed[1]) == Self.contents(plain))
        #expect(try sealed[0].integrity() == ["ok"])
    }

    /// Larger than SQLite's cache: pages go to the log during the transaction and again after changes, which rewrites
    /// the checksums of later frames.
    @Test func transactionsLargerThanTheCacheAreAtomic() throws {
        let database = try folder.open()
        try database.transaction { connection in
            try connection.executeScript("PRAGMA cache_size = 10")
        }
        let write = { (connection: Connection, text: String) in
            for round in 0..<3 {
                for id in 0..<150 {
                    try connection.execute(
                        "INSERT INTO note (id, text, content) VALUES (?, ?, zeroblob(?))"
                            + " ON CONFLICT (id) DO UPDATE SET text = excluded.text, content = excluded.content",
                        id, text, 1000 + round * 500)
                }
            }
        }
        try database.transaction { try write($0, "first") }
        #expect(throws: Undone.self) {
            try database.transaction {
                try write($0, "second")
                throw Undone()
            }
        }
        try database.transaction { try write($0, "third") }
        // As after a kill: the log is read from its start, with checksums.
        let copy = folder.path + "/copy.db"
        try Files.write(Files.read(folder.database), to: copy)
        try Files.write(Files.read(folder.log), to: copy + "-wal")
        for path in [folder.database, copy] {
            let fresh = try Database(path: path, migrations: [notes], key: folder.key)
            #expect(try fresh.texts() == [String](repeating: "third", count: 150))
            #expect(try fresh.integrity() == ["ok"])
        }
    }

    @Test func writersInManyThreadsLoseNoRows() async throws {
        let folder = folder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        let database = try folder.open(durability: .eventual)
                        for number in 0..<100 {
                            try database.put(writer * 1000 + number, "\(writer)", size: number * 50)
                            if number % 20 == writer { try database.checkpoint() }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let database = try folder.open()
        #expect(try database.texts() == (0..<4).flatMap { [String](repeating: "\($0)", count: 100) })
        #expect(try database.integrity() == ["ok"])
    }
}
