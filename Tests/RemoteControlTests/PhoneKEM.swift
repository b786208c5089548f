import Base
import Cryptography
import TestSupport

/// The phone's half of sntrup761, from its definition and not in constant time: one published key pair, and
/// decapsulation. Used only in tests.
struct PhoneKEM {
    private static let (degree, modulus, small) = (761, 4591, 3)
    let publicKey: [UInt8]
    private let secretKey: [UInt8]

    init() throws {
        // Next to the tests of the KEM.
        let source = #filePath.replacing("RemoteControlTests", with: "RatchetTests")
        let vector = try VectorValue.file("sntrup761", besides: source)
        publicKey = try vector["publicKey"].bytes
        secretKey = try vector["secretKey"].bytes
    }

    func decapsulate(_ ciphertext: [UInt8]) -> [UInt8] {
        let (f, inverse) = (Self.small(secretKey[0..<191]), Self.small(secretKey[191..<382]))
        let c = Self.decode(ciphertext.prefix(1007), [Int](repeating: 1531, count: Self.degree))
            .map { $0 * 3 - 2295 }
        let e = Self.product(f, c).map { Self.residue(Self.residue($0 * 3, Self.modulus), Self.small) }
        let r = Self.product(e, inverse).map { Self.residue($0, Self.small) }
        var code = [UInt8](repeating: 0, count: 191)
        for (place, coefficient) in r.enumerated() {
            code[place / 4] |= UInt8(coefficient + 1) << (place % 4 * 2)
        }
        return Self.hash(1, Self.hash(3, code) + ciphertext)
    }

    private static func hash(_ use: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        Array(SHA512.hash([use] + bytes).prefix(32))
    }

    private static func residue(_ number: Int, _ modulus: Int) -> Int {
        let half = modulus / 2
        return ((number + half) % modulus + modulus) % modulus - half
    }

    private static func small(_ code: ArraySlice<UInt8>) -> [Int] {
        let bytes = Array(code)
        return (0..<degree).map { Int(bytes[$0 / 4] >> ($0 % 4 * 2) & 3) - 1 }
    }

    private static func product(_ first: [Int], _ second: [Int]) -> [Int] {
        var sum = [Int](repeating: 0, count: 2 * degree - 1)
        sum.withUnsafeMutableBufferPointer { sum in
            for (offset, factor) in first.enumerated() where factor != 0 {
                for place in 0..<degree { sum[offset + place] += factor * second[place] }
            }
        }
        for place in stride(from: 2 * degree - 2, through: degree, by: -1) {
            sum[place - degree] += sum[place]
            sum[place - degree + 1] += sum[place]
        }
        return sum.prefix(degree).map { residue($0, modulus) }
    }

    private static func decode(_ code: ArraySlice<UInt8>, _ radixes: [Int]) -> [Int] {
        var code = code
        if radixes.count == 1 {
            return [code.reversed().reduce(0) { $0 << 8 + Int($1) } % radixes[0]]
        }
        var (lows, rests): ([(Int, Int)], [Int]) = ([], [])
        for first in stride(from: 0, to: radixes.count - 1, by: 2) {
            var (radix, low, weight) = (radixes[first] * radixes[first + 1], 0, 1)
            while radix >= 16384 {
                low += Int(code.popFirst() ?? 0) * weight
                (weight, radix) = (weight << 8, (radix + 255) >> 8)
            }
            lows.append((low, weight))
            rests.append(radix)
        }
        if radixes.count % 2 == 1 { rests.append(radixes[radixes.count - 1]) }
        let pairs = decode(code, rests)
        var digits: [Int] = []
        for (place, low) in lows.enumerated() {
            let number = low.0 + low.1 * pairs[place]
            digits += [number % radixes[2 * place], number / radixes[2 * place] % radixes[2 * place + 1]]
        }
        return radixes.count % 2 == 1 ? digits + [pairs[pairs.count - 1]] : digits
    }
}
