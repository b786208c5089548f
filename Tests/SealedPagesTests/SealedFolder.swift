import Base
import Cryptography
import Glibc
import Posix
import SealedPages
import Store
import TestSupport

/// A folder for the databases of one test with their key, deleted with this object or its process.
final class SealedFolder: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.path }
    let key = SecretBytes(randomCount: 32)
    var database: String { path + "/notes.db" }
    var log: String { database + "-wal" }

    init() {
        do {
            folder = try TemporaryFolder()
        } catch {
            fatalError("no folder: \(error)")
        }
    }

    func open(
        key: SecretBytes?, durability: Database.Durability = .full, busyTimeout: Duration = .seconds(20)
    ) throws -> Database {
        try Database(
            path: database, migrations: [notes], key: key, durability: durability, busyTimeout: busyTimeout)
    }

    func open(durability: Database.Durability = .full) throws -> Database {
        try open(key: key, durability: durability)
    }
}

let notes = Migration("notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, content BLOB) STRICT")

extension Database {
    func put(_ id: Int, _ text: String, size: Int = 0) throws {
        try transaction { connection in
            try connection.execute(
                "INSERT INTO note (id, text, content) VALUES (?, ?, zeroblob(?))"
                    + " ON CONFLICT (id) DO UPDATE SET text = excluded.text, content = excluded.content",
                id, text, size)
        }
    }

    func texts() throws -> [String] {
        try read { try $0.query("SELECT text FROM note ORDER BY id") { $0.text("text") } }
    }

    func integrity() throws -> [String] {
        try read { try $0.query("PRAGMA integrity_check") { $0.text("integrity_check") } }
    }
}

enum Files {
    static func read(_ path: String) throws -> [UInt8] {
        try OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 30)
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try OpenFile(path, flags: O_RDWR | O_CREAT, mode: 0o600)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }
}

extension [UInt8] {
    func contains(mark: String) -> Bool {
        let mark = [UInt8](mark.utf8)
        guard let first = mark.first else { return true }
        var start = startIndex
        while let found = self[start...].firstIndex(of: first) {
            if self[found...].starts(with: mark) { return true }
            start = found + 1
        }
        return false
    }
}
