import Base
import Cryptography

/// A code that unlocks if all other secrets are lost, printed once. It has 130 random bits in 26 letters and digits and
/// 4 check characters, in six groups of five.
///
///     7K3QF-0B9XW-…
///
/// Letters that resemble digits do not occur (Crockford's base 32) and are read as those digits.
public struct RecoveryCode: Sendable {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let randomCount = 26
    private static let checkCount = 4
    private static let groupLength = 5
    /// The maximum number of characters with separators.
    static let longestText = 200

    /// One symbol of 5 bits per byte.
    let symbols: SecretBytes

    public static func random() -> RecoveryCode {
        RecoveryCode(symbols: SecretBytes(SystemRandomSource().bytes(randomCount).map { $0 & 31 }))
    }

    private init(symbols: SecretBytes) { self.symbols = symbols }

    /// Parses a typed code, in any case, with any spaces and dashes.
    ///
    /// - Throws: `.mistypedCode`.
    public init(_ text: String) throws(KeySlotsError) {
        var symbols: [UInt8] = []
        for scalar in text.unicodeScalars.prefix(Self.longestText) {
            switch scalar {
            case " ", "-", "\t", "\n", "\r", "\u{2010}"..."\u{2015}", "\u{A0}": continue
            default: break
            }
            guard let symbol = Self.symbol(scalar) else {
                throw KeySlotsError(
                    .mistypedCode,
                    "Group \(symbols.count / Self.groupLength + 1) of the recovery code has an invalid character."
                )
            }
            symbols.append(symbol)
        }
        let count = Self.randomCount + Self.checkCount
        guard symbols.count == count, text.unicodeScalars.count <= Self.longestText else {
            throw KeySlotsError(
                .mistypedCode,
                "A recovery code has \(count) letters and digits; this one has \(symbols.count).")
        }
        let random = Array(symbols[..<Self.randomCount])
        guard Self.check(of: random) == Array(symbols[Self.randomCount...]) else {
            throw KeySlotsError(
                .mistypedCode, "The recovery code is mistyped; compare each group with the printed code.")
        }
        self.init(symbols: SecretBytes(random))
    }

    /// The code that was typed where a passphrase was asked for; nil: it is none. Other texts are never copied out of
    /// their locked memory.
    public init?(typed: SecretBytes) {
        let symbols = typed.withUnsafeBytes { bytes -> Int? in
            var count = 0
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    count += 1
                case UInt8(ascii: " "), UInt8(ascii: "-"): continue
                default: return nil
                }
            }
            return count
        }
        guard symbols == Self.randomCount + Self.checkCount,
            let code = try? RecoveryCode(typed.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        else { return nil }
        self = code
    }

    /// The code in groups, shown once.
    public var text: String {
        let random = symbols.withUnsafeBytes { Array($0) }
        let letters = (random + Self.check(of: random)).map { Self.alphabet[Int($0)] }
        let groups = stride(from: 0, to: letters.count, by: Self.groupLength).map {
            String(decoding: letters[$0..<$0 + Self.groupLength], as: UTF8.self)
        }
        return groups.joined(separator: "-")
    }

    private static func check(of symbols: [UInt8]) -> [UInt8] {
        BLAKE2b.hash(Array("chatfs recovery code".utf8) + [0] + symbols)[..<checkCount].map { $0 & 31 }
    }

    private static func symbol(_ scalar: Unicode.Scalar) -> UInt8? {
        guard scalar.isASCII else { return nil }
        var letter = UInt8(scalar.value)
        if (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) { letter -= 32 }
        switch letter {
        case UInt8(ascii: "O"): letter = UInt8(ascii: "0")
        case UInt8(ascii: "I"), UInt8(ascii: "L"): letter = UInt8(ascii: "1")
        default: break
        }
        return alphabet.firstIndex(of: letter).map { UInt8($0) }
    }
}
