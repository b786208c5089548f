/// Percent-encoding (RFC 3986, 2.1) in the queries of links and in URIs: `%41` for the byte 0x41.
public enum PercentEncoding {
    /// The bytes that stay unencoded.
    public struct Unescaped: Sendable {
        fileprivate let table: [Bool]

        /// - Parameter characters: ASCII.
        public init(_ characters: String) {
            var table = [Bool](repeating: false, count: 256)
            for byte in characters.utf8 { table[Int(byte)] = true }
            self.table = table
        }

        /// Letters, digits, `-`, `.`, `_` and `~` (RFC 3986, 2.3), which are safe everywhere.
        public static let unreserved = Unescaped(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

        public func contains(_ byte: UInt8) -> Bool { table[Int(byte)] }
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    public static func encode(_ text: String) -> String { encode(text.utf8, except: .unreserved) }

    public static func encode(_ bytes: some Collection<UInt8>, except unescaped: Unescaped) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count + bytes.count / 4)
        for byte in bytes {
            if unescaped.contains(byte) {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded.append(digits[Int(byte >> 4)])
                encoded.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns the decoded text, or nil for a `%` without two digits or for invalid UTF-8.
    /// - Parameter plusIsSpace: Whether `+` is a space, as in the queries of forms.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var source = text.utf8.makeIterator()
        while let byte = source.next() {
            switch byte {
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = source.next().flatMap(Hexadecimal.value(of:)),
                    let low = source.next().flatMap(Hexadecimal.value(of:))
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
