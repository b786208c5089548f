import CSodium

/// A key from a passphrase: slow and large on purpose, so that trying many passphrases costs as much each.
public enum Argon2id {
    public static let saltLength = 16
    public static let keyLength = 32

    /// What one derivation costs. Stored beside what the key opens, so that it can be raised later.
    public struct Cost: Hashable, Sendable {
        public let passes: UInt32
        /// Bytes, a whole number of KiB.
        public let memory: UInt64

        /// About half a second on a processor of 2024.
        public static let usual = Cost(uncheckedPasses: 3, memory: 128 << 20)

        /// What anybody could have chosen on purpose; more, in a damaged or hostile file, would only keep who opens it
        /// waiting or exhaust the memory.
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

    /// Takes as long as `cost` says: never on the cooperative pool.
    ///
    /// - Parameter salt: 16 bytes.
    /// - Throws: `.noMemory`.
    public static func key(
        from passphrase: SecretBytes, salt: [UInt8], cost: Cost
    ) throws(CryptographyError) -> SecretBytes {
        Sodium.prepare()
        precondition(salt.count == saltLength, "a salt has 16 bytes")
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
                    "There is not enough memory to check the passphrase: close other programs and try again.")
            }
            return keyLength
        }
    }
}
