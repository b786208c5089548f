import Base

/// The envelope of every XFTP message: 16,384 bytes, a 2-byte length, the message, `#` to the end
/// (XFTP protocol, "Transport"; padding content is not checked by anyone).
public enum Block {
    public static let size = 16_384
    /// Longest message in a block.
    public static let capacity = size - 2

    /// The block of a message, or nil when it is too long.
    public static func pad(_ message: [UInt8]) -> [UInt8]? {
        guard message.count <= capacity else { return nil }
        var block: [UInt8] = []
        block.reserveCapacity(size)
        block.append(bigEndian: UInt16(message.count))
        block += message
        block.append(contentsOf: repeatElement(UInt8(ascii: "#"), count: size - block.count))
        return block
    }

    /// The message in the first 16,384 bytes, or nil when there are fewer or the length is wrong.
    /// Bytes after the block are left to the caller.
    public static func unpad(_ block: [UInt8]) -> [UInt8]? {
        guard block.count >= size else { return nil }
        let length = Int(block[0]) << 8 | Int(block[1])
        guard length <= capacity else { return nil }
        return Array(block[2..<2 + length])
    }
}

extension ByteReader {
    /// A byte string with a 1-byte length.
    mutating func byteString() -> [UInt8]? {
        guard let length = byte() else { return nil }
        return bytes(Int(length))
    }

    /// A byte string with a 2-byte length.
    mutating func large() -> [UInt8]? {
        guard let length = integer(UInt16.self) else { return nil }
        return bytes(Int(length))
    }

    /// 1 to 255 byte strings after their count.
    mutating func byteStrings() -> [[UInt8]]? {
        guard let count = byte(), count > 0 else { return nil }
        var strings: [[UInt8]] = []
        for _ in 0..<count {
            guard let string = byteString() else { return nil }
            strings.append(string)
        }
        return strings
    }

    /// `0`, or `1` and a byte string; nil when it is neither.
    mutating func optionalByteString() -> [UInt8]?? {
        switch byte() {
        case UInt8(ascii: "0"): return .some(nil)
        case UInt8(ascii: "1"): return byteString().map { .some($0) }
        default: return nil
        }
    }
}

extension [UInt8] {
    /// Appends a byte string with a 1-byte length. At most 255 bytes: callers hold the limit.
    mutating func append(byteString: [UInt8]) {
        precondition(byteString.count <= 255, "a byte string holds at most 255 bytes")
        append(UInt8(byteString.count))
        self += byteString
    }

    /// Appends a byte string with a 2-byte length.
    mutating func append(large: [UInt8]) {
        precondition(large.count <= 65_535, "a large byte string holds at most 65,535 bytes")
        append(bigEndian: UInt16(large.count))
        self += large
    }

    mutating func append(byteStrings: [[UInt8]]) {
        precondition((1...255).contains(byteStrings.count), "a list holds 1 to 255 items")
        append(UInt8(byteStrings.count))
        for string in byteStrings { append(byteString: string) }
    }
}
