import Base

/// The form in which block tags lie on a disk: encrypted and authenticated with a key from that of their file. Whoever
/// could forge them could forge the tag of the file too.
///
/// Layout: nonce (16 bytes), AES-256-GCM tag (16), ciphertext. Plaintext, numbers big-endian: the key of the tags (32),
/// length of a section's first block (4), number of sections (4); for each section its start (8), its length (8) and its
/// tags (16 for each block).
extension BlockTags {
    private static let sealing = "chatfs block tags"

    /// Returns nil if a section is not covered.
    public func sealed(for arguments: FileArguments) -> [UInt8]? {
        guard let plaintext = encoded() else { return nil }
        let nonce = SystemRandomSource().bytes(LongNonceCipher.nonceLength)
        let (ciphertext, tag) = LongNonceCipher.seal(
            plaintext, key: Self.sealingKey(arguments), nonce: nonce, authenticated: [])
        return nonce + tag + ciphertext
    }

    /// Opens sealed tags. Returns nil if they belong to another file, were changed, or cover not all of `size` bytes.
    public convenience init?(sealed: [UInt8], for arguments: FileArguments, size: UInt64) {
        var reader = ByteReader(sealed)
        guard let nonce = reader.bytes(LongNonceCipher.nonceLength),
            let tag = reader.bytes(LongNonceCipher.tagLength),
            let ciphertext = reader.bytes(reader.remaining),
            let plaintext = LongNonceCipher.open(
                ciphertext, tag: tag, key: Self.sealingKey(arguments), nonce: nonce, authenticated: [])
        else { return nil }
        self.init(encoded: plaintext, size: size)
    }

    private static func sealingKey(_ arguments: FileArguments) -> WipedBytes {
        HKDF.derive(from: WipedBytes(arguments.key), info: sealing, count: LongNonceCipher.keyLength)
    }
}
