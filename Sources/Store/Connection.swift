import Base
import CSQLite
import Glibc

/// What a transaction works with. Lives inside `Database`, which hands it to one thread at a time;
/// keeping it beyond the closure is a mistake.
///
/// Every statement throws `.constraint`, `.busy`, `.diskFull`, `.damaged`, `.damagedPage`, `.notAllowed`,
/// `.inputOutput`, `.noMemory`, `.tooManyFiles`, `.invalidStatement`.
///
///     try database.transaction { connection in
///         try connection.execute("UPDATE item SET seen = ? WHERE id = ?", true, 7)
///     }
public final class Connection {
    let handle: OpaquePointer
    /// Prepared statements by their text. One in use is out of the cache, so the same text may be
    /// run again inside a row closure.
    private var idle: [String: PreparedStatement] = [:]
    /// More distinct texts than a module has; what exceeds it is finalised after use.
    private static let maxIdleStatements = 256

    init(handle: OpaquePointer) { self.handle = handle }

    /// The texts of statements that were run and can be run again.
    var preparedTexts: [String] { idle.keys.sorted() }

    deinit { close() }

    private(set) var isClosed = false

    /// The last connection to a database empties its journal and removes it.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        idle = [:]
        sqlite3_close_v2(handle)
    }

    /// Runs one statement to its end, rows ignored. Returns how many rows it changed.
    /// - Throws: as every statement.
    @discardableResult
    public func execute(_ sql: String, _ values: (any SQLBindable)?...) throws(StoreError) -> Int {
        try execute(sql, with: values)
    }

    /// The same for as many values as there are.
    @discardableResult
    func execute(_ sql: String, with values: [(any SQLBindable)?]) throws(StoreError) -> Int {
        try withStatement(sql, values) { statement throws(StoreError) in
            while try step(statement) {}
        }
        return Int(sqlite3_changes(handle))
    }

    /// All rows of a query.
    /// - Throws: `StoreError` as every statement; what `row` throws.
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

    /// The first row of a query, or nil when there is none.
    /// - Throws: as `query`.
    public func first<Result>(
        _ sql: String, _ values: (any SQLBindable)?..., row: (borrowing Row) throws -> Result
    ) throws -> Result? {
        let statement = try prepare(sql)
        defer { giveBack(statement, sql) }
        try bind(values, to: statement)
        return try step(statement) ? try row(Row(statement: statement)) : nil
    }

    /// Whether a query has a row.
    /// - Throws: as every statement.
    public func exists(_ sql: String, _ values: (any SQLBindable)?...) throws(StoreError) -> Bool {
        var found = false
        try withStatement(sql, values) { statement throws(StoreError) in found = try step(statement) }
        return found
    }

    /// The row id that the last INSERT made.
    public var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// How many rows were ever inserted, changed or deleted through this connection: as long as it stays the same, and
    /// nobody else writes to the database, what was read is still there.
    public var changedRowCount: Int64 { sqlite3_total_changes64(handle) }

    /// Runs several statements separated by semicolons; for schemas.
    /// - Throws: as every statement; what came before the one that fails was done.
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
            throw StoreError(.invalidStatement, "The database was given an empty statement.")
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
            throw StoreError(.invalidStatement, "A statement was given the wrong number of values.")
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
                // A nil pointer would bind NULL instead of no bytes.
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

    /// Moves to the next row; false at the end.
    private func step(_ statement: PreparedStatement) throws(StoreError) -> Bool {
        errno = 0
        let result = sqlite3_step(statement.handle)
        switch result {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw failure(result)
        }
    }

    /// - Parameter call: of SQLite. What the system said before it is not its own.
    func checked(_ call: @autoclosure () -> Int32) throws(StoreError) {
        errno = 0
        let result = call()
        if result != SQLITE_OK { throw failure(result) }
    }

    private func failure(_ result: Int32) -> StoreError {
        // A failing commit does not keep its errno for `sqlite3_system_errno`.
        let last = errno
        let systemError = sqlite3_system_errno(handle)
        return StoreError(
            resultCode: result, message: String(cString: sqlite3_errmsg(handle)),
            systemError: systemError == 0 ? last : systemError)
    }
}

/// Where an empty text lies: a nil pointer would bind NULL.
private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
    // Safe: written once before it is shared, never changed, never freed.
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    text.pointee = 0
    return UnsafePointer(text)
}()
