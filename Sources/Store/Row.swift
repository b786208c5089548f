import Base
import CSQLite

/// One row of a result, valid inside its closure. Columns are read by name (`AS` if two tables share one):
///
///     let files = try connection.query("SELECT name, size FROM file WHERE item = ?", item) { row in
///         (name: row.text("name"), size: row.unsigned("size"))
///     }
///
/// An unknown name is a fatal error. SQLite converts values of other types. NULL reads as 0, "" or no bytes unless the
/// result is optional.
public struct Row: ~Copyable {
    let statement: PreparedStatement

    public func isNull(_ column: StaticString) -> Bool { isNull(statement.position(of: column)) }
    public func integer(_ column: StaticString) -> Int64 { integer(statement.position(of: column)) }

    /// A `UInt64` that was bound as such.
    public func unsigned(_ column: StaticString) -> UInt64 { unsigned(statement.position(of: column)) }
    public func bool(_ column: StaticString) -> Bool { bool(statement.position(of: column)) }
    public func real(_ column: StaticString) -> Double { real(statement.position(of: column)) }
    public func text(_ column: StaticString) -> String { text(statement.position(of: column)) }
    public func bytes(_ column: StaticString) -> [UInt8] { bytes(statement.position(of: column)) }
    public func timestamp(_ column: StaticString) -> Timestamp { timestamp(statement.position(of: column)) }

    public func integerOrNil(_ column: StaticString) -> Int64? {
        integerOrNil(statement.position(of: column))
    }
    public func unsignedOrNil(_ column: StaticString) -> UInt64? {
        unsignedOrNil(statement.position(of: column))
    }
    public func textOrNil(_ column: StaticString) -> String? { textOrNil(statement.position(of: column)) }
    public func bytesOrNil(_ column: StaticString) -> [UInt8]? { bytesOrNil(statement.position(of: column)) }
    public func elapsedTimeOrNil(_ column: StaticString) -> ElapsedTime? {
        integerOrNil(column).map { ElapsedTime(nanoseconds: $0) }
    }
    public func timestampOrNil(_ column: StaticString) -> Timestamp? {
        timestampOrNil(statement.position(of: column))
    }

    /// Reads an enumeration's word.
    ///
    /// - Throws: `.damaged` for an unknown word.
    @inlinable
    public func value<Value: RawRepresentable<String>>(
        _ column: StaticString, as type: Value.Type = Value.self
    ) throws(StoreError) -> Value {
        guard let value = Value(rawValue: text(column)) else {
            throw Self.unknownValue(in: column)
        }
        return value
    }

    /// The unknown value may be private, so the message omits it.
    @usableFromInline
    static func unknownValue(in column: StaticString) -> StoreError {
        StoreError(
            .damaged,
            "The database is corrupt: a row has an unknown value for '\(column)'. Restore it from a backup.")
    }

    /// Reads an enumeration's word from a column that may be NULL.
    ///
    /// - Throws: `.damaged`.
    @inlinable
    public func valueOrNil<Value: RawRepresentable<String>>(
        _ column: StaticString, as type: Value.Type = Value.self
    ) throws(StoreError) -> Value? {
        isNull(column) ? nil : try value(column, as: type)
    }

    // MARK: - Steps

    private func isNull(_ position: Int32) -> Bool {
        sqlite3_column_type(statement.handle, position) == SQLITE_NULL
    }

    private func integer(_ position: Int32) -> Int64 { sqlite3_column_int64(statement.handle, position) }
    private func unsigned(_ position: Int32) -> UInt64 { UInt64(bitPattern: integer(position)) }
    private func bool(_ position: Int32) -> Bool { integer(position) != 0 }
    private func real(_ position: Int32) -> Double { sqlite3_column_double(statement.handle, position) }

    private func text(_ position: Int32) -> String { textOrNil(position) ?? "" }

    private func bytes(_ position: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(statement.handle, position) else { return [] }
        return Array(
            UnsafeRawBufferPointer(
                start: bytes, count: Int(sqlite3_column_bytes(statement.handle, position))))
    }

    private func timestamp(_ position: Int32) -> Timestamp { Timestamp(nanoseconds: integer(position)) }

    private func integerOrNil(_ position: Int32) -> Int64? { isNull(position) ? nil : integer(position) }
    private func unsignedOrNil(_ position: Int32) -> UInt64? { isNull(position) ? nil : unsigned(position) }
    private func textOrNil(_ position: Int32) -> String? {
        guard let bytes = sqlite3_column_text(statement.handle, position) else { return nil }
        let count = Int(sqlite3_column_bytes(statement.handle, position))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
    private func bytesOrNil(_ position: Int32) -> [UInt8]? { isNull(position) ? nil : bytes(position) }
    private func timestampOrNil(_ position: Int32) -> Timestamp? {
        isNull(position) ? nil : timestamp(position)
    }
}
