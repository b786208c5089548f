import Base
import Store
import TestSupport

/// A folder for the databases of one test, deleted with this object or its process.
final class ScratchFolder: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.path }

    init() {
        do {
            folder = try TemporaryFolder()
        } catch {
            fatalError("no folder: \(error)")
        }
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
