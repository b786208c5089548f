import Base
import CSQLite

/// One row of a result, valid inside the closure that is given it. Columns count from 0. Values of
/// another type than asked are converted as SQLite does; NULL reads as 0, "" or no bytes where the
/// result cannot be nil.
public struct Row: ~Copyable {
    let statement: OpaquePointer

    public func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(statement, column) == SQLITE_NULL
    }

    public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    /// A `UInt64` that was bound as such.
    public func unsigned(_ column: Int32) -> UInt64 { UInt64(bitPattern: integer(column)) }

    public func bool(_ column: Int32) -> Bool { integer(column) != 0 }

    public func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

    public func text(_ column: Int32) -> String {
        guard let bytes = sqlite3_column_text(statement, column) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    public func bytes(_ column: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(statement, column) else { return [] }
        return Array(
            UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column))))
    }

    public func timestamp(_ column: Int32) -> Timestamp { Timestamp(nanoseconds: integer(column)) }

    public func integerOrNil(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
    public func unsignedOrNil(_ column: Int32) -> UInt64? { isNull(column) ? nil : unsigned(column) }
    public func textOrNil(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
    public func bytesOrNil(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
    public func timestampOrNil(_ column: Int32) -> Timestamp? { isNull(column) ? nil : timestamp(column) }
}
