/// A number modulo 2^130 − 5, the field of Poly1305, in five limbs of 26 bits. For a few operations per file: OpenSSL
/// computes the authenticators.
struct Poly1305Number: Hashable {
    private var limbs: [UInt64]

    private static let mask: UInt64 = 1 << 26 - 1

    /// - Parameters:
    ///   - bytes: 16 bytes, little-endian.
    ///   - high: The bits from 2^128 on, less than 4.
    init(_ bytes: [UInt8], high: UInt64 = 0) {
        precondition(bytes.count == 16 && high < 4, "a number of Poly1305 has at most 130 bits")
        limbs = [0, 0, 0, 0, high << 24]
        for (index, byte) in bytes.enumerated() {
            let (limb, shift) = (8 * index / 26, 8 * index % 26)
            limbs[limb] |= UInt64(byte) << UInt64(shift) & Self.mask
            if shift > 18 { limbs[limb + 1] |= UInt64(byte) >> UInt64(26 - shift) }
        }
    }

    /// The multiplier of a one-time key, which Poly1305 clamps (RFC 8439, 2.5).
    init(multiplierOf key: [UInt8]) {
        var bytes = Array(key[..<16])
        for index in [3, 7, 11, 15] { bytes[index] &= 15 }
        for index in [4, 8, 12] { bytes[index] &= 252 }
        self.init(bytes)
    }

    static func + (one: Poly1305Number, other: Poly1305Number) -> Poly1305Number {
        var sum = one
        for index in 0..<5 { sum.limbs[index] += other.limbs[index] }
        sum.reduce()
        return sum
    }

    static func * (one: Poly1305Number, other: Poly1305Number) -> Poly1305Number {
        var product = one
        for index in 0..<5 {
            var limb: UInt64 = 0
            for (left, value) in one.limbs.enumerated() {
                // 2^130 is 5.
                let right = index - left
                limb += value * (right < 0 ? 5 * other.limbs[right + 5] : other.limbs[right])
            }
            product.limbs[index] = limb
        }
        product.reduce()
        return product
    }

    /// - Parameter exponent: At least 1.
    func power(_ exponent: UInt64) -> Poly1305Number {
        precondition(exponent > 0, "powers begin with 1")
        var result = self
        for bit in (0..<UInt64.bitWidth - exponent.leadingZeroBitCount - 1).reversed() {
            result = result * result
            if exponent >> UInt64(bit) & 1 == 1 { result = result * self }
        }
        return result
    }

    /// The lowest 128 bits, little-endian.
    var lowBytes: [UInt8] {
        (0..<16).map { index in
            let (limb, shift) = (8 * index / 26, UInt64(8 * index % 26))
            let rest = shift > 18 ? limbs[limb + 1] << (26 - shift) : 0
            return UInt8(truncatingIfNeeded: limbs[limb] >> shift | rest)
        }
    }

    /// Leaves the only representation below 2^130 − 5.
    private mutating func reduce() {
        // The second round ends the carries of the first; limbs then have 26 bits.
        for _ in 0..<3 { carry() }
        var less = self
        less.limbs[0] += 5
        for index in 0..<4 {
            less.limbs[index + 1] += less.limbs[index] >> 26
            less.limbs[index] &= Self.mask
        }
        guard less.limbs[4] > Self.mask else { return }
        less.limbs[4] &= Self.mask
        self = less
    }

    private mutating func carry() {
        for index in 0..<4 {
            limbs[index + 1] += limbs[index] >> 26
            limbs[index] &= Self.mask
        }
        limbs[0] += 5 * (limbs[4] >> 26)
        limbs[4] &= Self.mask
    }
}
