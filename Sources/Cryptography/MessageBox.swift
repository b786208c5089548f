import Base
import CSodium

/// Encrypts one short message with the cipher of `StreamBox`, the 16-byte tag first, as SimpleX does for messages
/// (simplexmq `cbEncrypt`).
public enum MessageBox {
    public static let keyLength = 32
    public static let nonceLength = 24
    public static let tagLength = 16

    /// Returns tag and ciphertext, 16 bytes more than `message`.
    /// - Parameters:
    ///   - key: 32 bytes, symmetric or the raw result of X25519.
    ///   - nonce: 24 bytes, never reused with one key.
    public static func seal(_ message: [UInt8], key: WipedBytes, nonce: [UInt8]) -> [UInt8] {
        withSubkey(of: key, nonce) { subkey in
            [UInt8](unsafeUninitializedCapacity: message.count + tagLength) { buffer, count in
                crypto_secretbox_easy(buffer.baseAddress!, message, UInt64(message.count), nonce, subkey)
                count = message.count + tagLength
            }
        }
    }

    /// Decrypts a box. Returns nil if the tag is wrong. Compares tags in constant time.
    public static func open(_ box: [UInt8], key: WipedBytes, nonce: [UInt8]) -> [UInt8]? {
        guard box.count >= tagLength, nonce.count == nonceLength else { return nil }
        return withSubkey(of: key, nonce) { subkey in
            var message = [UInt8](repeating: 0, count: box.count - tagLength)
            return crypto_secretbox_open_easy(&message, box, UInt64(box.count), nonce, subkey) == 0
                ? message : nil
        }
    }

    /// Pads the message to `size` bytes and encrypts it, so the box has `size` + 16 bytes. Returns nil if it does not
    /// fit.
    public static func seal(
        _ message: [UInt8], paddedTo size: Int, key: WipedBytes, nonce: [UInt8]
    ) -> [UInt8]? {
        Padding.pad(message, to: size).map { seal($0, key: key, nonce: nonce) }
    }

    /// Decrypts a padded box. Returns nil if the tag or the padding is wrong.
    public static func openPadded(_ box: [UInt8], key: WipedBytes, nonce: [UInt8]) -> [UInt8]? {
        open(box, key: key, nonce: nonce).flatMap(Padding.unpad)
    }

    private static func withSubkey<Result>(
        of key: WipedBytes, _ nonce: [UInt8], _ body: (UnsafePointer<UInt8>) -> Result
    ) -> Result {
        precondition(
            key.count == keyLength && nonce.count == nonceLength, "wrong length of key or nonce")
        Sodium.prepare()
        var subkey = SIMD32<UInt8>()
        let zeros = SIMD16<UInt8>()
        return withUnsafeMutableBytes(of: &subkey) { subkey in
            defer { sodium_memzero(subkey.baseAddress, subkey.count) }
            let target = subkey.assumingMemoryBound(to: UInt8.self).baseAddress!
            withUnsafeBytes(of: zeros) { zeros in
                key.withUnsafeBytes { key in
                    _ = crypto_core_hsalsa20(
                        target, zeros.assumingMemoryBound(to: UInt8.self).baseAddress!,
                        key.bindMemory(to: UInt8.self).baseAddress!, nil)
                }
            }
            return body(target)
        }
    }
}
