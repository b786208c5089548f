import Base
import CSQLite
import Cryptography
import Glibc

/// Copies a database row by row into a new one, under another key or none: how one in clear becomes a sealed one, and
/// the other way round. (SQLite's own ways copy pages, and a sealed page holds less.) Blocks.
///
/// What is read is one snapshot, so others may use the database meanwhile. Row numbers, the numbers that
/// AUTOINCREMENT gives next, indexes, triggers and views are the same afterwards. Virtual tables are not copied.
public enum DatabaseCopy {
    /// Rows that are committed together: the journal stays small.
    private static let batch = 5_000

    /// The copy is complete, checked against what it was made of, and safe against a power cut when this returns. When
    /// it throws, what there is of it is for the caller to remove.
    ///
    /// - Parameters:
    ///   - source: a database that exists.
    ///   - key: of the source; nil: it is in clear.
    ///   - target: nothing is there yet. Its folder is not synchronised.
    ///   - targetKey: nil: it will be in clear.
    /// - Throws: as `Database`; `.damaged` too where the copy is not what it was made of.
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

    /// - Parameter old: in a transaction, which is its snapshot.
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

    /// Of all tables with rows of their own, `sqlite_sequence` last: inserting into others changes it.
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
            throw StoreError(.invalidStatement, "The database has a table of a kind that cannot be copied.")
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
        // There from the first table with AUTOINCREMENT on, and filled as rows are copied.
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
            throw StoreError(.damaged, "The copy of the database is damaged: check the disk and try again.")
        }
        for table in tables {
            let counts = try [new, old].map { connection in
                try connection.first("SELECT count(*) AS count FROM \(quoted(table))") { $0.integer("count") }
            }
            guard counts[0] == counts[1] else {
                throw StoreError(.damaged, "The copy of the database is not complete: try again.")
            }
        }
    }

    /// A statement of one copy, finalised with it. One thread, as its connection.
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

        /// The values go over as they are, whatever their types.
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
