import Base
import TestSupport

@testable import Cryptography

/// Key 00 01 … 1f and nonce 64 65 … 7b, the pair of all published vectors.
enum Vectors {
    static let key = [UInt8](0..<32)
    static let nonce = [UInt8](100..<124)
    static let arguments = FileArguments(key: key, nonce: nonce)

    /// Pseudorandom bytes, the same in each run.
    static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            for index in 0..<count {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                buffer[index] = UInt8(truncatingIfNeeded: state >> 32)
            }
            filled = count
        }
    }
}

/// A generator with a fixed seed, so that failures can be repeated.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
}

extension StreamBox {
    mutating func seal(_ bytes: inout [UInt8]) { bytes.withUnsafeMutableBytes { seal($0) } }
    mutating func open(_ bytes: inout [UInt8]) { bytes.withUnsafeMutableBytes { open($0) } }
}
