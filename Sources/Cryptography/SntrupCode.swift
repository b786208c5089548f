/// How polynomials of sntrup761 are written. Residues are packed as digits of one number in a mixed radix, pairs of
/// pairs, of which the lowest bytes come out as soon as they are known (the reference implementation's `Encode`).
enum SntrupCode {
    /// Bytes of a secret polynomial.
    static let smallLength = 191
    /// Below this a radix is not shortened by another byte.
    private static let limit: UInt32 = 16_384

    /// Four coefficients in a byte, two bits each.
    static func encodeSmall(
        _ coefficients: UnsafeBufferPointer<Int32>, into target: UnsafeMutableRawBufferPointer
    ) {
        for place in 0..<coefficients.count {
            target[place / 4] |= UInt8(truncatingIfNeeded: (coefficients[place] &+ 1) << Int32(place % 4 * 2))
        }
    }

    /// 1007 bytes of coefficients that are multiples of 3.
    static func encodeRounded(_ coefficients: [Int32]) -> [UInt8] {
        var code: [UInt8] = []
        code.reserveCapacity(Sntrup761.ciphertextLength)
        // Multiplication by 10923 / 2^15 is division by 3.
        encode(
            coefficients.map {
                UInt32(truncatingIfNeeded: (($0 &+ SntrupPolynomial.largest) &* 10_923) >> 15)
            },
            radixes: [UInt32](repeating: 1531, count: SntrupPolynomial.degree), into: &code)
        return code
    }

    /// The coefficients of a public key of 1158 bytes, whatever they are.
    static func decodeKey(_ key: [UInt8]) -> [Int32] {
        let radix = UInt32(SntrupPolynomial.modulus)
        return decode(key[...], radixes: [UInt32](repeating: radix, count: SntrupPolynomial.degree))
            .map { Int32(truncatingIfNeeded: $0) &- SntrupPolynomial.largest }
    }

    private static func encode(_ digits: [UInt32], radixes: [UInt32], into code: inout [UInt8]) {
        if digits.count == 1 {
            var (digit, radix) = (digits[0], radixes[0])
            while radix > 1 { shorten(&digit, &radix, into: &code) }
            return
        }
        var (pairs, radixesOfPairs): ([UInt32], [UInt32]) = ([], [])
        for first in stride(from: 0, to: digits.count - 1, by: 2) {
            var digit = digits[first] &+ digits[first + 1] &* radixes[first]
            var radix = radixes[first] &* radixes[first + 1]
            while radix >= limit { shorten(&digit, &radix, into: &code) }
            pairs.append(digit)
            radixesOfPairs.append(radix)
        }
        if digits.count % 2 == 1 {
            pairs.append(digits[digits.count - 1])
            radixesOfPairs.append(radixes[digits.count - 1])
        }
        encode(pairs, radixes: radixesOfPairs, into: &code)
    }

    private static func shorten(_ digit: inout UInt32, _ radix: inout UInt32, into code: inout [UInt8]) {
        code.append(UInt8(truncatingIfNeeded: digit))
        digit >>= 8
        radix = (radix + 255) >> 8
    }

    /// As many digits as radixes: the code is long enough for them.
    private static func decode(_ code: ArraySlice<UInt8>, radixes: [UInt32]) -> [UInt32] {
        var code = code
        if radixes.count == 1 {
            var (radix, number, shift) = (radixes[0], UInt32(0), UInt32(0))
            while radix > 1 {
                number |= UInt32(code.popFirst() ?? 0) << shift
                shift += 8
                radix = (radix + 255) >> 8
            }
            return [number % radixes[0]]
        }
        // What came out of each pair, and the radix of the rest.
        var (lows, weights, rests): ([UInt32], [UInt32], [UInt32]) = ([], [], [])
        for first in stride(from: 0, to: radixes.count - 1, by: 2) {
            var (radix, low, weight) = (radixes[first] * radixes[first + 1], UInt32(0), UInt32(1))
            while radix >= limit {
                low += UInt32(code.popFirst() ?? 0) * weight
                weight <<= 8
                radix = (radix + 255) >> 8
            }
            lows.append(low)
            weights.append(weight)
            rests.append(radix)
        }
        if radixes.count % 2 == 1 { rests.append(radixes[radixes.count - 1]) }
        let pairs = decode(code, radixes: rests)
        var digits: [UInt32] = []
        for first in stride(from: 0, to: radixes.count - 1, by: 2) {
            let number = lows[first / 2] &+ weights[first / 2] &* pairs[first / 2]
            digits.append(number % radixes[first])
            // The second is below its radix but in a code that no encoder makes.
            digits.append(number / radixes[first] % radixes[first + 1])
        }
        if radixes.count % 2 == 1 { digits.append(pairs[radixes.count / 2]) }
        return digits
    }
}
