/// The code that a user compares on both screens before the phone admits this computer: the session's "tls-unique" as a
/// decimal number, in groups of five digits from the left.
public struct SessionCode: Hashable, Sendable, CustomStringConvertible {
    /// All groups: 72 to 78 digits.
    public let groups: [String]

    /// - Parameter channelBinding: 32 bytes of the TLS connection.
    public init(channelBinding: [UInt8]) {
        // Digits, lowest first.
        var digits: [UInt8] = [0]
        for byte in channelBinding {
            var carry = Int(byte)
            for place in digits.indices {
                carry += Int(digits[place]) << 8
                digits[place] = UInt8(carry % 10)
                carry /= 10
            }
            while carry > 0 {
                digits.append(UInt8(carry % 10))
                carry /= 10
            }
        }
        let text = digits.reversed().map { Character(Unicode.Scalar(UInt8(ascii: "0") + $0)) }
        groups = stride(from: 0, to: text.count, by: 5).map { String(text[$0..<min($0 + 5, text.count)]) }
    }

    /// The four groups that phones show.
    public var shown: String { groups.prefix(4).joined(separator: " ") }

    public var description: String { groups.joined(separator: " ") }
}
