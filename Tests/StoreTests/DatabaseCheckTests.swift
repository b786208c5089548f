import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Store

@Suite("Checking a database")
struct DatabaseCheckTests {
    private static let schema = [
        Migration(
            "one",
            """
            CREATE TABLE a (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
            CREATE INDEX a_by_text ON a (text);
            CREATE TABLE b (a INTEGER REFERENCES a) STRICT;
            """)
    ]

    private static func filled(_ folder: TemporaryFolder, key: SecretBytes? = nil) throws -> String {
        let path = folder.path("some.db")
        let database = try Database(path: path, migrations: schema, key: key)
        try database.transaction { connection in
            for number in 0..<2000 {
                try connection.execute("INSERT INTO a VALUES (?, ?)", number, "value \(number)")
            }
        }
        database.close()
        return path
    }

    private static func flip(_ path: String, at offset: UInt64) throws {
        let file = try OpenFile(path, flags: O_RDWR)
        try file.write(try file.read(count: 1, at: offset).map { $0 ^ 1 }, at: offset)
    }

    @Test("an intact database has no problems while being written")
    func whole() throws {
        let folder = try TemporaryFolder()
        let path = try Self.filled(folder)
        #expect(try DatabaseCheck.problems(path: path) == [])
        let database = try Database(path: path, migrations: Self.schema)
        try database.transaction { connection in
            try connection.execute("DELETE FROM a WHERE id < 1000")
            #expect(try DatabaseCheck.problems(path: path) == [])
        }
        #expect(throws: StoreError.self) { try DatabaseCheck.problems(path: folder.path("nowhere")) }
        #expect(access(folder.path("nowhere"), F_OK) != 0)
    }

    @Test("wrong pages, indexes and references are found")
    func damaged() throws {
        let folder = try TemporaryFolder()
        let path = try Self.filled(folder)
        try Self.flip(path, at: 4096)
        #expect(try DatabaseCheck.problems(path: path) != [])
        try Self.flip(path, at: 4096)
        #expect(try DatabaseCheck.problems(path: path) == [])
        let outcome = try Connection(path: path, key: nil)
        try outcome.executeScript("PRAGMA foreign_keys = OFF; INSERT INTO b VALUES (99999)")
        outcome.close()
        #expect(try DatabaseCheck.problems(path: path).first?.contains("'b'") == true)
        try OpenFile(path, flags: O_RDWR).truncate(to: 8192)
        #expect(try DatabaseCheck.problems(path: path) != [])
    }

    @Test("every changed bit of a sealed database is found")
    func sealed() throws {
        let folder = try TemporaryFolder()
        let key = SecretBytes([UInt8](repeating: 9, count: 32))
        let path = try Self.filled(folder, key: key)
        #expect(try DatabaseCheck.problems(path: path, key: key) == [])
        let size = try OpenFile(path, flags: O_RDONLY).size()
        for offset in stride(from: UInt64(4096) + 17, to: size, by: 4096) {
            try Self.flip(path, at: offset)
            #expect(try DatabaseCheck.problems(path: path, key: key) != [], "a bit at \(offset)")
            try Self.flip(path, at: offset)
        }
        let other = SecretBytes([UInt8](repeating: 8, count: 32))
        #expect(throws: StoreError.self) { try DatabaseCheck.problems(path: path, key: other) }
        #expect(throws: StoreError.self) { try DatabaseCheck.problems(path: path) }
    }
}
