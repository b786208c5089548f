import Base
import CSQLite
import Glibc

/// A connection inside a transaction. `Database` passes it to one thread at a time. Do not keep it after the closure.
///
/// Every statement throws `.constraint`, `.busy`, `.diskFull`, `.damaged`, `.damagedPage`, `.notAllowed`,
/// `.inputOutput`, `.noMemory`, `.tooManyFiles`, `.invalidStatement`.
///
///     try database.transaction { connection in
///         try connection.execute("UPDATE item SET seen = ? WHERE id = ?", true, 7)
///     }
public final class Connection {
    let handle: OpaquePointer
    /// Prepared statements by text. A statement in use is removed, so the same text can run again inside a row closure.
    private var idle: [String: PreparedStatement] = [:]
    /// More than the distinct texts of a module. Further statements are finalized after use.
    private static let maxIdleStatements = 256

    init(handle: OpaquePointer) { self.handle = handle }

    /// The texts of cached statements.
    var preparedTexts: [String] { idle.keys.sorted() }

    deinit { close() }

    private(set) var isClosed = false

    /// Closes the connection. The last connection to a database empties and deletes its journal.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        idle = [:]
        sqlite3_close_v2(handle)
    }

    /// Runs one statement and ignores its rows. Returns the number of changed rows.
    /// - Throws: The errors of every statement.
    @discardableResult
    public func execute(_ sql: String, _ values: (any SQLBindable)?...) throws(StoreError) -> Int {
        try execute(sql, with: values)
    }

    /// Runs a statement with an array of values.
    @discardableResult
    func execute(_ sql: String, with values: [(any SQLBindable)?]) throws(StoreError) -> Int {
        try withStatement(sql, values) { statement throws(StoreError) in
            while try step(statement) {}
        }
        return Int(sqlite3_changes(handle))
    }

    /// Returns all rows of a query.
    /// - Throws: The errors of every statement; the errors of `row`.
    public func query<Result>(
        _ sql: String, _ values: (any SQLBindable)?..., row: (borrowing Row) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        let statement = try prepare(sql)
        defer { giveBack(statement, sql) }
        try bind(values, to: statement)
        while try step(statement) { results.append(try row(Row(statement: statement))) }
        return results
    }

    /// Returns the first row of a query, or nil.
    /// - Throws: The errors of `query`.
    public func first<Result>(
        _ sql: String, _ values: (any SQLBindable)?..., row: (borrowing Row) throws -> Result
    ) throws -> Result? {
        let statement = try prepare(sql)
        defer { giveBack(statement, sql) }
        try bind(values, to: statement)
        return try step(statement) ? try row(Row(statement: statement)) : nil
    }

    /// Returns whether a query has a row.
    /// - Throws: The errors of every statement.
    public func exists(_ sql: String, _ values: (any SQLBindable)?...) throws(StoreError) -> Bool {
        var found = false
        try withStatement(sql, values) { statement throws(StoreError) in found = try step(statement) }
        return found
    }

    /// The row id of the last INSERT.
    public var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// The number of rows inserted, changed or deleted through this connection. While it is constant and no other
    /// connection writes, earlier reads stay valid.
    public var changedRowCount: Int64 { sqlite3_total_changes64(handle) }

    /// Runs several statements separated by semicolons, for schemas.
    /// - Throws: The errors of every statement. Statements before the failed one have taken effect.
    public func executeScript(_ sql: String) throws(StoreError) {
        try checked(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    // MARK: - Statements

    private func withStatement(
        _ sql: String, _ values: [(any SQLBindable)?],
        _ body: (PreparedStatement) throws(StoreError) -> Void
    ) throws(StoreError) {
        let statement = try prepare(sql)
        defer { giveBack(statement, sql) }
        try bind(values, to: statement)
        try body(statement)
    }

    private func prepare(_ sql: String) throws(StoreError) -> PreparedStatement {
        if let statement = idle.removeValue(forKey: sql) { return statement }
        var statement: OpaquePointer?
        try checked(
            sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
        guard let statement else {
            throw StoreError(.invalidStatement, "A database statement is empty.")
        }
        return PreparedStatement(handle: statement)
    }

    private func giveBack(_ statement: PreparedStatement, _ sql: String) {
        sqlite3_reset(statement.handle)
        sqlite3_clear_bindings(statement.handle)
        guard idle[sql] == nil, idle.count < Self.maxIdleStatements else { return }
        idle[sql] = statement
    }

    private func bind(
        _ values: [(any SQLBindable)?], to prepared: PreparedStatement
    ) throws(StoreError) {
        let statement = prepared.handle
        guard values.count == Int(sqlite3_bind_parameter_count(statement)) else {
            throw StoreError(.invalidStatement, "A database statement has the wrong number of values.")
        }
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            switch value?.sqlValue ?? .null {
            case .null: try checked(sqlite3_bind_null(statement, position))
            case .integer(let number): try checked(sqlite3_bind_int64(statement, position, number))
            case .real(let number): try checked(sqlite3_bind_double(statement, position, number))
            case .text(var text):
                let result = text.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) {
                        sqlite3_bind_text64(
                            statement, position, $0.baseAddress ?? emptyText, UInt64($0.count),
                            chatfs_sqlite_transient(), UInt8(SQLITE_UTF8))
                    }
                }
                try checked(result)
            case .blob(let bytes) where bytes.isEmpty:
                // A nil pointer would bind NULL instead of an empty blob.
                try checked(sqlite3_bind_zeroblob(statement, position, 0))
            case .blob(let bytes):
                let result = bytes.withUnsafeBytes {
                    sqlite3_bind_blob64(
                        statement, position, $0.baseAddress, UInt64($0.count),
                        chatfs_sqlite_transient())
                }
                try checked(result)
            }
        }
    }

    /// Moves to the next row. Returns false at the end.
    private func step(_ statement: PreparedStatement) throws(StoreError) -> Bool {
        errno = 0
        let result = sqlite3_step(statement.handle)
        switch result {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw failure(result)
        }
    }

    /// - Parameter call: An SQLite call. `errno` is cleared before it.
    func checked(_ call: @autoclosure () -> Int32) throws(StoreError) {
        errno = 0
        let result = call()
        if result != SQLITE_OK { throw failure(result) }
    }

    private func failure(_ result: Int32) -> StoreError {
        // A failed commit does not set `sqlite3_system_errno`.
        let last = errno
        let systemError = sqlite3_system_errno(handle)
        return StoreError(
            resultCode: result, message: String(cString: sqlite3_errmsg(handle)),
            systemError: systemError == 0 ? last : systemError)
    }
}

/// The address of an empty text: a nil pointer would bind NULL.
private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
    // Safe: written once before it is shared, never changed, never freed.
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    text.pointee = 0
    return UnsafePointer(text)
}()
