/// The security code that two contacts compare to rule out a man in the middle.
enum SecurityCode {
    /// Formats a hash as a decimal number in groups of five digits, as the official apps do.
    static func text(_ hash: [UInt8]) -> String {
        var digits = decimalDigits(hash)[...]
        var groups: [String] = []
        while !digits.isEmpty {
            groups.append(String(digits.prefix(5).map { Character("\($0)") }))
            digits = digits.dropFirst(5)
        }
        return groups.joined(separator: " ")
    }

    /// Decimal digits of a big-endian number, most significant first; [0] for zero.
    private static func decimalDigits(_ bytes: [UInt8]) -> [Int] {
        // Least significant first.
        var digits = [0]
        for byte in bytes {
            var carry = Int(byte)
            for place in digits.indices {
                let value = digits[place] * 256 + carry
                digits[place] = value % 10
                carry = value / 10
            }
            while carry > 0 {
                digits.append(carry % 10)
                carry /= 10
            }
        }
        return digits.reversed()
    }
}
