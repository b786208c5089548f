import COpenSSL

/// The one-time authenticator of a `StreamBox`, from OpenSSL. It is three times as fast as libsodium's, which uses only
/// SSE2. A value.
struct Poly1305: Sendable {
    static let keyLength = 32
    static let tagLength = 16
    private var context: RunningContext

    private static let algorithm = FetchedAlgorithm(EVP_MAC_fetch, "POLY1305")
    private static let kind = RunningContext.Kind(
        copy: { EVP_MAC_CTX_dup($0) }, free: { EVP_MAC_CTX_free($0) })

    /// - Parameter key: 32 bytes, for one message only.
    init(key: UnsafeRawBufferPointer) {
        precondition(key.count == Self.keyLength, "a one-time key must have 32 bytes")
        context = RunningContext(EVP_MAC_CTX_new(Self.algorithm.pointer), Self.kind)
        context.change {
            EVP_MAC_init($0, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, nil)
        }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        context.change {
            EVP_MAC_update($0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
    }

    /// Returns the tag of all bytes so far, 16 bytes. More may follow.
    func finalize() -> [UInt8] {
        context.ending(capacity: Self.tagLength) { EVP_MAC_final($0, $1, &$2, Self.tagLength) }
    }

    /// The tag of all bytes so far, as a SIMD value.
    var tag: SIMD16<UInt8> { SIMD16(finalize()) }

    /// Returns the tag of all bytes so far if their first 16 had been `start` instead of zeros.
    /// - Parameters:
    ///   - length: The number of bytes so far, a multiple of 16.
    ///   - key: The key of this authenticator.
    func tag(start: [UInt8], length: UInt64, key: [UInt8]) -> [UInt8] {
        precondition(length > 0 && length % 16 == 0, "the start of an incomplete block cannot be added")
        let multiplier = Poly1305Number(multiplierOf: key)
        let mask = Array(key[16...])
        // A tag is the low 128 bits of the sum. The tag after one more block tells its two high bits.
        let low = Self.difference(finalize(), mask)
        var longer = self
        let block = [UInt8](repeating: 0, count: 16)
        block.withUnsafeBytes { longer.update($0) }
        let next = Self.difference(longer.finalize(), mask)
        let sum = (0..<4).lazy.map { Poly1305Number(low, high: $0) }.first {
            (($0 + Poly1305Number(block, high: 1)) * multiplier).lowBytes == next
        }
        guard let sum else { preconditionFailure("OpenSSL computed no Poly1305") }
        let whole = sum + Poly1305Number(start) * multiplier.power(length / 16)
        return Self.sum(whole.lowBytes, mask)
    }

    private static func sum(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
        var carry = 0
        return zip(one, other).map {
            let sum = Int($0) + Int($1) + carry
            carry = sum >> 8
            return UInt8(truncatingIfNeeded: sum)
        }
    }

    private static func difference(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
        var borrow = 0
        return zip(one, other).map {
            let difference = Int($0) - Int($1) + borrow
            borrow = difference >> 8
            return UInt8(truncatingIfNeeded: difference)
        }
    }

    /// Returns the tag of a whole message.
    static func tag(of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> SIMD16<UInt8> {
        precondition(key.count == Self.keyLength, "a one-time key must have 32 bytes")
        guard let context = EVP_MAC_CTX_new(algorithm.pointer) else { preconditionFailure("out of memory") }
        defer { EVP_MAC_CTX_free(context) }
        var tag = SIMD16<UInt8>()
        let done = withUnsafeMutableBytes(of: &tag) { tag in
            var count = 0
            let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return EVP_MAC_init(
                context, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, nil) == 1
                && EVP_MAC_update(context, start, bytes.count) == 1
                && EVP_MAC_final(
                    context, tag.baseAddress?.assumingMemoryBound(to: UInt8.self), &count, tag.count) == 1
        }
        precondition(done, "OpenSSL failed to compute a Poly1305")
        return tag
    }
}
