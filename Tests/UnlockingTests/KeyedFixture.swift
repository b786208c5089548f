import Base
import Cryptography
import Glibc
import KeySlots
import Posix
import Store
import TestSupport

@testable import Unlocking

/// A folder like a data directory, with databases in it and in subfolders.
struct KeyedFixture {
    static let databases = ["chatfs.db", "profiles/1/names.sqlite", "profiles/1/outbox/journal.sqlite"]
    static let mark = "mark-of-a-secret-name"
    static let lockFile = "in-use"

    let folder: TemporaryFolder
    var keyed: KeyedFolder { KeyedFolder(path: folder.path, database: "chatfs.db") }

    /// - Parameter rows: The rows of each database.
    init(rows: Int = 40) throws {
        folder = try TemporaryFolder()
        for name in ["profiles", "profiles/1", "profiles/1/outbox"] { _ = try folder.makeFolder(name) }
        for name in Self.databases { try Self.fill(folder.path(name), rows: rows) }
        // Not a database despite its name.
        try folder.write(Array("nothing".utf8), to: "profiles/1/other.sqlite")
    }

    static let migrations = [
        Migration(
            "notes",
            """
            CREATE TABLE note (
                id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, size REAL, content BLOB) STRICT;
            CREATE INDEX note_by_text ON note (text);
            CREATE TABLE pair (left TEXT, right TEXT, PRIMARY KEY (left, right)) STRICT, WITHOUT ROWID;
            CREATE TABLE loose (text TEXT);
            CREATE VIEW texts AS SELECT text FROM note;
            CREATE TRIGGER gone AFTER DELETE ON note BEGIN DELETE FROM pair WHERE left = old.text; END;
            """)
    ]

    static func fill(_ path: String, rows: Int) throws {
        let database = try Database(path: path, migrations: migrations)
        defer { database.close() }
        try database.transaction { connection in
            for number in 0..<rows {
                try connection.execute(
                    "INSERT INTO note (text, size, content) VALUES (?, ?, ?)", "\(mark) \(number)",
                    Double(number) / 3, [UInt8](repeating: UInt8(number % 251), count: number * 37 % 6000))
                try connection.execute("INSERT INTO pair (left, right) VALUES (?, ?)", "\(number)", mark)
                try connection.execute(
                    "INSERT INTO loose (rowid, text) VALUES (?, ?)", number * 3 + 7, mark)
            }
            // Numbers are never reused.
            try connection.execute("DELETE FROM note WHERE id = ?", rows)
        }
    }

    /// All contents that a user would miss.
    static func content(of path: String, key: SecretBytes?) throws -> [String] {
        let database = try Database(path: path, migrations: migrations, key: key)
        defer { database.close() }
        return try database.read { connection in
            try connection.query("SELECT id || text || size || hex(content) AS line FROM note ORDER BY id") {
                $0.text("line")
            }
                + connection.query("SELECT left || right AS line FROM pair ORDER BY left") { $0.text("line") }
                + connection.query("SELECT rowid || text AS line FROM loose ORDER BY rowid") {
                    $0.text("line")
                }
                + connection.query("SELECT name || seq AS line FROM sqlite_sequence") { $0.text("line") }
                + connection.query("SELECT name || type AS line FROM sqlite_schema ORDER BY name") {
                    $0.text("line")
                } + connection.query("SELECT count(*) || '' AS line FROM texts") { $0.text("line") }
        }
    }

    func contents(key: SecretBytes?) throws -> [[String]] {
        try Self.databases.map { try Self.content(of: folder.path($0), key: key) }
    }

    /// The relative paths of all files.
    func files() throws -> [String] {
        func list(_ name: String) throws -> [String] {
            try folder.names(in: name).flatMap { inner -> [String] in
                let path = name == "." ? inner : "\(name)/\(inner)"
                var status = stat()
                guard lstat(folder.path(path), &status) == 0 else { return [] }
                return status.st_mode & S_IFMT == S_IFDIR ? try list(path) : [path]
            }
        }
        return try list(".")
    }

    /// The files that contain plain text.
    func filesWithMarks() throws -> [String] {
        try files().filter { name in
            let bytes = try folder.read(name)
            return ["mark-of-a-", "SQLite format", "CREATE TABLE"].contains { mark in
                let mark = Array(mark.utf8)
                return bytes.count >= mark.count
                    && (0...bytes.count - mark.count).contains { start in
                        bytes[start] == mark[0] && bytes[start..<start + mark.count].elementsEqual(mark)
                    }
            }
        }
    }
}

extension UnlockingSecret {
    static func passphrase(_ text: String) -> UnlockingSecret { .passphrase(SecretBytes(Array(text.utf8))) }
    static let someKey = UnlockingSecret.key(SecretBytes([UInt8](0..<32)))
}
