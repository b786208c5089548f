import CSodium

/// Derives a key from a passphrase with Argon2id. Its time and memory cost slow down guessing.
public enum Argon2id {
    public static let saltLength = 16
    public static let keyLength = 32

    /// The cost of one derivation. Stored next to the encrypted key, so that later versions can raise it.
    public struct Cost: Hashable, Sendable {
        public let passes: UInt32
        /// Memory in bytes, a multiple of 1024.
        public let memory: UInt64

        /// About half a second on a processor of 2024.
        public static let usual = Cost(uncheckedPasses: 3, memory: 128 << 20)

        /// Returns nil for costs outside 1 to 16 passes and 8 KiB to 1 GiB. A damaged or hostile file could otherwise
        /// block the opener or exhaust memory.
        public init?(passes: UInt32, memory: UInt64) {
            guard (1...16).contains(passes), (8 << 10...1 << 30).contains(memory), memory % 1024 == 0 else {
                return nil
            }
            self.init(uncheckedPasses: passes, memory: memory)
        }

        private init(uncheckedPasses passes: UInt32, memory: UInt64) {
            self.passes = passes
            self.memory = memory
        }
    }

    /// Derives a key of 32 bytes. Blocks as long as `cost` requires, so never call it on the cooperative pool.
    ///
    /// - Parameter salt: 16 bytes.
    /// - Throws: `.noMemory`.
    public static func key(
        from passphrase: SecretBytes, salt: [UInt8], cost: Cost
    ) throws(CryptographyError) -> SecretBytes {
        Sodium.prepare()
        precondition(salt.count == saltLength, "a salt must have 16 bytes")
        return try SecretBytes(upTo: keyLength) {
            (memory: UnsafeMutableRawBufferPointer) throws(CryptographyError) -> Int in
            let done = passphrase.withCString { text in
                crypto_pwhash(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(keyLength), text,
                    UInt64(passphrase.count), salt, UInt64(cost.passes), Int(cost.memory),
                    crypto_pwhash_ALG_ARGON2ID13)
            }
            guard done == 0 else {
                throw CryptographyError(
                    .noMemory,
                    "Not enough memory to check the passphrase; close other programs and try again.")
            }
            return keyLength
        }
    }
}
