import Base

/// The envelope of every XFTP message: 16,384 bytes with a 2-byte length, the message and `#` padding (XFTP protocol,
/// "Transport"). Padding is not checked.
public enum Block {
    public static let size = 16_384
    /// The longest message in bytes.
    public static let capacity = size - 2

    /// Returns the block of a message, or nil if it is too long.
    public static func pad(_ message: [UInt8]) -> [UInt8]? {
        Padding.pad(message, to: size)
    }

    /// Returns the message in the first 16,384 bytes, or nil if there are fewer or the length is wrong. Ignores later
    /// bytes.
    public static func unpad(_ block: [UInt8]) -> [UInt8]? {
        guard block.count >= size else { return nil }
        let length = Int(block[0]) << 8 | Int(block[1])
        guard length <= capacity else { return nil }
        return Array(block[2..<2 + length])
    }
}
