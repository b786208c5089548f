import Cryptography
import Glibc
import Posix
import Testing

@testable import Store

/// Copies of databases with other keys.
@Suite struct DatabaseCopyTests {
    private let folder = ScratchFolder()
    private var source: String { folder.path + "/notes.db" }
    private var target: String { folder.path + "/copy.db" }

    private func fill(_ key: SecretBytes?, rows: Int = 12_000) throws -> Database {
        let database = try Database(path: source, migrations: [notes], key: key)
        try database.transaction { connection in
            try connection.execute("INSERT INTO folder (id, name) VALUES (7, ?)", "a \"quoted\" näme")
            for number in 0..<rows {
                try connection.execute(
                    "INSERT INTO note (id, folder, text, content, size, weight) VALUES (?, 7, ?, ?, ?, ?)",
                    number * 2 + 1, number % 3 == 0 ? nil : "text \(number)",
                    [UInt8](repeating: 0, count: number % 50),
                    Int64(number) << 33, Double(number) / 7)
            }
        }
        return database
    }

    private func lines(_ path: String, _ key: SecretBytes?) throws -> [String] {
        let database = try Database(path: path, migrations: [notes], key: key)
        return try database.read { connection in
            try connection.query(
                """
                SELECT id || '|' || ifnull(text, 'none') || '|' || hex(content) || '|' || size || '|' || weight AS line
                FROM note ORDER BY id
                """
            ) { $0.text("line") }
                + connection.query("SELECT id || name AS line FROM folder") { $0.text("line") }
        }
    }

    @Test(
        "rows are equal with any pair of keys",
        arguments: [(false, true), (true, false), (true, true), (false, false)])
    func rows(wasSealed: Bool, isSealed: Bool) throws {
        let key = wasSealed ? SecretBytes(randomCount: 32) : nil
        let other = isSealed ? SecretBytes(randomCount: 32) : nil
        try fill(key).close()
        try DatabaseCopy.make(from: source, key: key, to: target, key: other)
        #expect(try lines(target, other) == lines(source, key))
        let magic = try OpenFile(target, flags: O_RDONLY).read(count: 6, at: 0)
        #expect(magic == Array((isSealed ? "ChatFS" : "SQLite").utf8))
        #expect(access(target + "-wal", F_OK) != 0)
    }

    @Test("concurrent writes are neither copied nor delayed")
    func snapshot() throws {
        let key = SecretBytes(randomCount: 32)
        let database = try fill(key, rows: 10)
        try DatabaseCopy.make(from: source, key: key, to: target, key: key)
        try database.transaction { try $0.execute("DELETE FROM note") }
        #expect(try lines(target, key).count == 11)
    }

    @Test("invalid sources are rejected and unchanged")
    func refused() throws {
        let key = SecretBytes(randomCount: 32)
        try fill(key, rows: 10).close()
        func code(_ source: String, _ key: SecretBytes?) -> StoreError.Code? {
            do throws(StoreError) {
                try DatabaseCopy.make(from: source, key: key, to: target, key: nil)
                return nil
            } catch {
                unlink(target)
                return error.code
            }
        }
        #expect(code(source, SecretBytes(randomCount: 32)) == .wrongKey)
        #expect(code(source, nil) == .encrypted)
        #expect(try lines(source, key).count == 11)
        let virtual = folder.path + "/virtual.db"
        try Database(
            path: virtual, migrations: [Migration("search", "CREATE VIRTUAL TABLE search USING fts5(text)")]
        ).close()
        #expect(code(virtual, nil) == .invalidStatement)
    }

    @Test("a probe changes nothing")
    func probe() throws {
        let key = SecretBytes(randomCount: 32)
        try Database.probe(path: source, key: key)
        #expect(access(source, F_OK) != 0)
        try fill(key, rows: 10).close()
        try Database.probe(path: source, key: key)
        #expect(throws: StoreError.self) { try Database.probe(path: source, key: nil) }
        #expect(throws: StoreError.self) {
            try Database.probe(path: source, key: SecretBytes(randomCount: 32))
        }
    }
}
