import Base

/// The envelope of every XFTP message: 16,384 bytes, a 2-byte length, the message, `#` to the end
/// (XFTP protocol, "Transport"; padding content is not checked by anyone).
public enum Block {
    public static let size = 16_384
    /// Longest message in a block.
    public static let capacity = size - 2

    /// The block of a message, or nil when it is too long.
    public static func pad(_ message: [UInt8]) -> [UInt8]? {
        Padding.pad(message, to: size)
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
