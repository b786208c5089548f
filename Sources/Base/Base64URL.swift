/// Base64 with `-` and `_`, and `=` as padding: the text form of keys, nonces, ids and digests (simplexmq `strEncode`).
public enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each ASCII byte, or 255 outside the alphabet.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var group: UInt32 = 0
        var held = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            held += 1
            if held == 3 {
                for shift in [18, 12, 6, 0] { text.append(alphabet[Int(group >> UInt32(shift) & 63)]) }
                group = 0
                held = 0
            }
        }
        if held > 0 {
            group <<= UInt32(8 * (3 - held))
            for digit in 0..<4 {
                let filled = digit <= held
                text.append(filled ? alphabet[Int(group >> UInt32(18 - 6 * digit) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text, or nil if it is not base64url. Accepts missing padding like the official parsers,
    /// but no wrong padding, `+`, `/` or extra bits.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8)[...]) }

    /// The same for the bytes of a text.
    public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits = text
        if digits.count % 4 == 0 {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var group: UInt32 = 0
        var bits = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value != 255 else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
                group &= (1 << UInt32(bits)) - 1
            }
        }
        return group == 0 ? bytes : nil
    }
}

/// The usual alphabet (RFC 4648 section 4) with `+`, `/` and padding, for data URIs and WebSocket.
public enum Base64 {
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
    }

    /// Returns the bytes of a text, or nil if it is not base64. Accepts missing padding, but no white space.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        for place in digits.indices {
            switch digits[place] {
            case UInt8(ascii: "+"): digits[place] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): digits[place] = UInt8(ascii: "_")
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: break
            }
        }
        return Base64URL.decode(digits[...])
    }
}
