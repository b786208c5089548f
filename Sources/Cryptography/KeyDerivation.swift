import CSodium

/// BLAKE2b with 32 bytes, from libsodium.
public enum BLAKE2b {
    public static let length = 32

    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        Sodium.prepare()
        var hash = [UInt8](repeating: 0, count: length)
        let done = crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), nil, 0)
        precondition(done == 0, "libsodium failed to hash")
        return hash
    }

    /// Derives a key of 32 bytes for one purpose. It reveals nothing about the original key.
    ///
    /// - Parameters:
    ///   - use: A unique name of the purpose, without NUL.
    ///   - context: Distinguishes keys of one purpose.
    ///   - key: 16 to 64 bytes.
    public static func derive(_ use: StaticString, _ context: [UInt8], from key: SecretBytes) -> SecretBytes {
        Sodium.prepare()
        let message = Array(String(describing: use).utf8) + [0] + context
        return SecretBytes(upTo: length) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            let done = key.withUnsafeBytes { key in
                crypto_generichash(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), length, message,
                    UInt64(message.count), key.baseAddress!.assumingMemoryBound(to: UInt8.self), key.count)
            }
            precondition(done == 0, "libsodium failed to hash")
            return length
        }
    }
}
