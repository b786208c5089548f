import Base
import CSodium

/// The polynomials of sntrup761: 761 coefficients modulo x^761 − x − 1, of which the secret one has 286 that are 1 or
/// −1 and 475 that are 0, and the others are residues modulo 4591 between −2295 and 2295.
enum SntrupPolynomial {
    static let degree = 761
    static let modulus: Int32 = 4591
    static let largest: Int32 = 2295
    private static let weight = 286

    /// A random secret polynomial: the places of coefficients are those of random numbers, sorted.
    static func short(from random: any RandomSource, into target: UnsafeMutableBufferPointer<Int32>) {
        var bytes = random.bytes(4 * degree)
        defer { bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) } }
        withWipedMemory(UInt32.self, count: degree) { numbers in
            bytes.withUnsafeBytes { bytes in
                for place in 0..<degree {
                    let number = UInt32(
                        littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * place, as: UInt32.self))
                    // The two lowest bits are the coefficient plus one, and do not matter to the order.
                    numbers[place] = place < weight ? number & ~1 : number & ~3 | 1
                }
            }
            ObliviousSort.sort(numbers)
            for place in 0..<degree { target[place] = Int32(truncatingIfNeeded: numbers[place] & 3) &- 1 }
        }
    }

    /// The product of a public polynomial and a secret one, each coefficient rounded to a multiple of 3.
    static func roundedProduct(of key: [Int32], and small: UnsafeBufferPointer<Int32>) -> [Int32] {
        withWipedMemory(Int32.self, count: 2 * degree - 1) { product in
            // At most 761 · 2295 by size: no sum needs reducing before the end.
            key.withUnsafeBufferPointer { key in
                guard let key = key.baseAddress, let product = product.baseAddress else { return }
                for offset in 0..<degree { add(small[offset], times: key, to: product + offset) }
            }
            // x^761 is x + 1.
            for place in stride(from: 2 * degree - 2, through: degree, by: -1) {
                product[place - degree] &+= product[place]
                product[place - degree + 1] &+= product[place]
            }
            return (0..<degree).map { rounded(reduced(product[$0])) }
        }
    }

    @inline(__always)
    private static func add(
        _ factor: Int32, times key: UnsafePointer<Int32>, to sum: UnsafeMutablePointer<Int32>
    ) {
        var place = 0
        while place < degree {
            sum[place] &+= factor &* key[place]
            place &+= 1
        }
    }

    /// The residue between −2295 and 2295 of a number below 2^23 by size. The quotient is the nearest integer; the
    /// error of the reciprocal is far too small to reach another one, since no number lies half-way.
    @inline(__always)
    static func reduced(_ number: Int32) -> Int32 {
        // 2^40 / 4591, rounded.
        let reciprocal: Int64 = 239_492_840
        let quotient = (Int64(number) &* reciprocal &+ 1 << 39) >> 40
        return number &- modulus &* Int32(truncatingIfNeeded: quotient)
    }

    /// The nearest multiple of 3.
    @inline(__always)
    private static func rounded(_ residue: Int32) -> Int32 { 3 &* ((10_923 &* residue &+ 16_384) >> 15) }
}
