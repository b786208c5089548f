/// The fields of all SimpleX protocols, big endian: strings after their length, lists after their count, `0` or `1`
/// before an optional value, `T` or `F` for a Boolean.
extension ByteReader {
    /// A byte string with a 1-byte length.
    public mutating func byteString() -> [UInt8]? {
        let start = self
        guard let length = byte(), let string = bytes(Int(length)) else { return back(to: start) }
        return string
    }

    /// A byte string with a 2-byte length.
    public mutating func large() -> [UInt8]? {
        let start = self
        guard let length = integer(UInt16.self), let string = bytes(Int(length)) else {
            return back(to: start)
        }
        return string
    }

    /// 1 to 255 byte strings after their count.
    public mutating func byteStrings() -> [[UInt8]]? { list { $0.byteString() } }

    /// `0`, or `1` and a byte string. Returns nil for other bytes.
    public mutating func optionalByteString() -> [UInt8]?? { optional { $0.byteString() } }

    /// `T` or `F`.
    public mutating func bool() -> Bool? {
        let start = self
        switch byte() {
        case UInt8(ascii: "T"): return true
        case UInt8(ascii: "F"): return false
        default: return back(to: start)
        }
    }

    /// `0`, or `1` and a value. Returns nil for other bytes.
    public mutating func optional<Value>(_ value: (inout ByteReader) -> Value?) -> Value?? {
        let start = self
        switch byte() {
        case UInt8(ascii: "0"): return .some(nil)
        case UInt8(ascii: "1"):
            guard let value = value(&self) else { break }
            return .some(value)
        default: break
        }
        self = start
        return nil
    }

    /// Up to 255 values after their count.
    /// - Parameter mayBeEmpty: Whether the count may be 0.
    public mutating func list<Value>(
        mayBeEmpty: Bool = false, _ value: (inout ByteReader) -> Value?
    ) -> [Value]? {
        let start = self
        guard let count = byte(), count > 0 || mayBeEmpty else { return back(to: start) }
        var values: [Value] = []
        for _ in 0..<count {
            guard let value = value(&self) else { return back(to: start) }
            values.append(value)
        }
        return values
    }

    /// Moves the position only if all of it was read.
    private mutating func back<Value>(to start: ByteReader) -> Value? {
        self = start
        return nil
    }
}

extension [UInt8] {
    /// Appends a byte string with a 1-byte length. At most 255 bytes; callers check.
    public mutating func append(byteString: [UInt8]) {
        precondition(byteString.count <= 255, "a byte string holds at most 255 bytes")
        append(UInt8(byteString.count))
        self += byteString
    }

    /// Appends a byte string with a 2-byte length.
    public mutating func append(large: [UInt8]) {
        precondition(large.count <= 65_535, "a large byte string holds at most 65,535 bytes")
        append(bigEndian: UInt16(large.count))
        self += large
    }

    public mutating func append(byteStrings: [[UInt8]]) {
        append(list: byteStrings) { $0.append(byteString: $1) }
    }

    public mutating func append(bool: Bool) { append(UInt8(ascii: bool ? "T" : "F")) }

    public mutating func append<Value>(optional value: Value?, _ body: (inout [UInt8], Value) -> Void) {
        append(UInt8(ascii: value == nil ? "0" : "1"))
        if let value { body(&self, value) }
    }

    /// - Parameter mayBeEmpty: Whether the list may be empty.
    public mutating func append<Value>(
        list values: [Value], mayBeEmpty: Bool = false, _ body: (inout [UInt8], Value) -> Void
    ) {
        precondition((mayBeEmpty ? 0 : 1)...255 ~= values.count, "a list holds 1 to 255 items")
        append(UInt8(values.count))
        for value in values { body(&self, value) }
    }
}
