import Base

/// A value as SQLite stores it.
public enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// A value for a `?` in a statement. nil binds NULL.
public protocol SQLBindable {
    var sqlValue: SQLValue { get }
}

extension SQLValue: SQLBindable {
    public var sqlValue: SQLValue { self }
}

extension Int64: SQLBindable {
    public var sqlValue: SQLValue { .integer(self) }
}

extension Int: SQLBindable {
    public var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension UInt32: SQLBindable {
    public var sqlValue: SQLValue { .integer(Int64(self)) }
}

/// Stored bit for bit (SQLite has no unsigned integers). Values from 2^63 are read with `Row.unsigned` and sort as
/// negative ones.
extension UInt64: SQLBindable {
    public var sqlValue: SQLValue { .integer(Int64(bitPattern: self)) }
}

extension Bool: SQLBindable {
    public var sqlValue: SQLValue { .integer(self ? 1 : 0) }
}

extension Double: SQLBindable {
    public var sqlValue: SQLValue { .real(self) }
}

extension String: SQLBindable {
    public var sqlValue: SQLValue { .text(self) }
}

extension [UInt8]: SQLBindable {
    public var sqlValue: SQLValue { .blob(self) }
}

/// Nanoseconds since 1970.
extension Timestamp: SQLBindable {
    public var sqlValue: SQLValue { .integer(nanoseconds) }
}

/// Nanoseconds.
extension ElapsedTime: SQLBindable {
    public var sqlValue: SQLValue { .integer(nanoseconds) }
}

/// For enumerations stored by their words, read with `Row.value`.
extension SQLBindable where Self: RawRepresentable, RawValue == String {
    public var sqlValue: SQLValue { .text(rawValue) }
}
