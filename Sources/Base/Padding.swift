/// Hides the length of a message: a 2-byte length, the message, then `#`. The padding bytes are not verified.
public enum Padding {
    public static let prefix = 2

    /// Returns `size` bytes, or nil if the message does not fit.
    public static func pad(_ message: [UInt8], to size: Int) -> [UInt8]? {
        guard message.count + prefix <= size, message.count <= Int(UInt16.max) else { return nil }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            buffer[0] = UInt8(message.count >> 8)
            buffer[1] = UInt8(message.count & 255)
            _ = buffer[prefix...].update(fromContentsOf: message)
            buffer[(prefix + message.count)...].update(repeating: UInt8(ascii: "#"))
            count = size
        }
    }

    /// Returns the message, or nil for a wrong length.
    public static func unpad(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= prefix else { return nil }
        let length = Int(bytes[0]) << 8 | Int(bytes[1])
        guard prefix + length <= bytes.count else { return nil }
        return Array(bytes[prefix..<prefix + length])
    }
}
