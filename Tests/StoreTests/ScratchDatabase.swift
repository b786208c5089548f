import Base
import Glibc
import Posix
import Store
import Testing

/// A folder of its own for the databases of one test, gone with it.
final class ScratchFolder {
    let path: String

    init() {
        var template = Array("/tmp/chatfs-store-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    deinit {
        if let folder = try? OpenFile(path, flags: O_RDONLY) {
            try? PrivateFolder.removeContents(of: folder, keeping: [])
        }
        rmdir(path)
    }

    func database(
        _ migrations: [Migration] = [notes], durability: Database.Durability = .full,
        busyTimeout: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
    ) throws -> Database {
        try Database(
            path: path + "/notes.db", migrations: migrations, durability: durability,
            busyTimeout: busyTimeout, file: file, line: line)
    }
}

let notes = Migration(
    "notes",
    """
    CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE note (
        id INTEGER PRIMARY KEY, folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
        text TEXT, content BLOB, size INTEGER, weight REAL) STRICT;
    """)

extension Database {
    func count(_ table: String) throws -> Int64 {
        try read { try $0.first("SELECT count(*) AS count FROM \(table)") { $0.integer("count") } } ?? -1
    }
}
