import Base

/// A value as SQLite stores it.
public enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// What can stand for a `?` of a statement. A nil binds NULL.
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

/// Kept bit for bit (SQLite has no unsigned numbers): values above 2^63 come back through
/// `Row.unsigned`, but sort as negative ones.
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

/// As nanoseconds since 1970.
extension Timestamp: SQLBindable {
    public var sqlValue: SQLValue { .integer(nanoseconds) }
}

/// As nanoseconds.
extension ElapsedTime: SQLBindable {
    public var sqlValue: SQLValue { .integer(nanoseconds) }
}

/// For enumerations whose words are stored; `Row.value` reads them back.
extension SQLBindable where Self: RawRepresentable, RawValue == String {
    public var sqlValue: SQLValue { .text(rawValue) }
}
