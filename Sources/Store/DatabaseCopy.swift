import Base
import CSQLite
import Cryptography
import Glibc

/// Copies a database row by row into a new one with another key or none, which encrypts or decrypts it. SQLite's own
/// copies work on pages, and a sealed page holds fewer bytes. Blocks.
///
/// Reads one snapshot, so others may use the database meanwhile. Row ids, AUTOINCREMENT counters, indexes, triggers and
/// views are preserved. Virtual tables are not copied.
public enum DatabaseCopy {
    /// The number of rows per commit, which keeps the journal small.
    private static let batch = 5_000

    /// Copies a database. The copy is complete, verified and durable when this returns. After an error, the caller
    /// deletes its remains.
    ///
    /// - Parameters:
    ///   - source: The path of an existing database.
    ///   - key: The key of the source, or nil for a plain one.
    ///   - target: A path that does not exist. Its folder is not synchronized.
    ///   - targetKey: The key of the copy, or nil for a plain one.
    /// - Throws: The errors of `Database`; `.damaged` also if the copy differs from the source.
    public static func make(
        from source: String, key: SecretBytes?, to target: String, key targetKey: SecretBytes?
    ) throws(StoreError) {
        let old = try Connection(path: source, key: key)
        defer { old.close() }
        if key == nil, old.isSealed { throw StoreError.encrypted }
        sqlite3_busy_timeout(old.handle, 10_000)
        try old.executeScript("PRAGMA temp_store = MEMORY; BEGIN")
        try make(from: old, to: target, key: targetKey)
    }

    /// - Parameter old: A connection in a transaction, which is the snapshot.
    static func make(
        from old: Connection, to target: String, key targetKey: SecretBytes?
    ) throws(StoreError) {
        let new = try Connection(path: target, key: targetKey)
        defer { new.close() }
        sqlite3_busy_timeout(new.handle, 10_000)
        do {
            try new.executeScript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; "
                    + "PRAGMA foreign_keys = OFF")
            for setting in ["user_version", "application_id"] {
                let value =
                    try old.first("SELECT \(setting) AS value FROM pragma_\(setting)") { $0.integer("value") }
                    ?? 0
                try new.executeScript("PRAGMA \(setting) = \(value)")
            }
            let tables = try names(of: old)
            for sql in try definitions(in: old, of: ["table"]) { try new.executeScript(sql) }
            for table in tables { try copy(table, old, new) }
            for sql in try definitions(in: old, of: ["index", "view", "trigger"]) {
                try new.executeScript(sql)
            }
            try verify(new, against: old, tables)
            try new.executeScript("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            throw error as? StoreError ?? StoreError(.damaged, sentence(of: error), cause: error)
        }
    }

    /// Returns all tables with rows, `sqlite_sequence` last because inserts into other tables change it.
    private static func names(of connection: Connection) throws -> [String] {
        try connection.query(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND (name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR name = 'sqlite_sequence')
            ORDER BY name = 'sqlite_sequence', rowid
            """
        ) { $0.text("name") }
    }

    private static func definitions(in connection: Connection, of types: [String]) throws -> [String] {
        let list = types.map { "'\($0)'" }.joined(separator: ", ")
        let found = try connection.query(
            """
            SELECT sql FROM sqlite_schema WHERE type IN (\(list)) AND sql IS NOT NULL
            AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
            """
        ) { $0.text("sql") }
        guard !found.contains(where: { $0.uppercased().hasPrefix("CREATE VIRTUAL") }) else {
            throw StoreError(.invalidStatement, "The database has a virtual table, which cannot be copied.")
        }
        return found
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    private static func copy(_ table: String, _ old: Connection, _ new: Connection) throws {
        var columns = try old.query(
            "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", table
        ) { quoted($0.text("name")) }
        let hasNumbers = try old.exists(
            "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND name = ? AND wr = 0", table)
        if hasNumbers, !columns.contains("\"rowid\"") { columns.insert("rowid", at: 0) }
        let list = columns.joined(separator: ", ")
        // The first AUTOINCREMENT table created it, and copied rows filled it.
        if table == "sqlite_sequence" { try new.executeScript("DELETE FROM sqlite_sequence") }
        let reader = try Statement("SELECT \(list) FROM \(quoted(table))", old)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let writer = try Statement("INSERT INTO \(quoted(table)) (\(list)) VALUES (\(marks))", new)
        try new.executeScript("BEGIN IMMEDIATE")
        var count = 0
        while try reader.step() {
            try writer.insert(rowOf: reader, columns.count)
            count += 1
            if count % batch == 0 { try new.executeScript("COMMIT; BEGIN IMMEDIATE") }
        }
        try new.executeScript("COMMIT")
    }

    private static func verify(_ new: Connection, against old: Connection, _ tables: [String]) throws {
        let said = try new.query("PRAGMA integrity_check(1)") { $0.text("integrity_check") }
        guard said == ["ok"] else {
            throw StoreError(.damaged, "The copy of the database is damaged; check the disk and try again.")
        }
        for table in tables {
            let counts = try [new, old].map { connection in
                try connection.first("SELECT count(*) AS count FROM \(quoted(table))") { $0.integer("count") }
            }
            guard counts[0] == counts[1] else {
                throw StoreError(.damaged, "The copy of the database is incomplete; try again.")
            }
        }
    }

    /// A statement of one copy, finalized on release. Used by one thread, like its connection.
    private final class Statement {
        private let handle: OpaquePointer
        private let connection: Connection

        init(_ sql: String, _ connection: Connection) throws(StoreError) {
            var handle: OpaquePointer?
            try connection.checked(sqlite3_prepare_v2(connection.handle, sql, -1, &handle, nil))
            guard let handle else { throw StoreError(.invalidStatement, "A table has no columns.") }
            self.handle = handle
            self.connection = connection
        }

        deinit { sqlite3_finalize(handle) }

        func step() throws(StoreError) -> Bool {
            let result = sqlite3_step(handle)
            if result != SQLITE_DONE, result != SQLITE_ROW { try connection.checked(result) }
            return result == SQLITE_ROW
        }

        /// Inserts the values unchanged, with their types.
        func insert(rowOf reader: Statement, _ count: Int) throws(StoreError) {
            for index in 0..<Int32(count) {
                try connection.checked(
                    sqlite3_bind_value(handle, index + 1, sqlite3_column_value(reader.handle, index)))
            }
            _ = try step()
            sqlite3_reset(handle)
        }
    }
}
