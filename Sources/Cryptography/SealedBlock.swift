/// The layout of a sealed block on disk, in bytes: nonce (12) ‖ plaintext length (4, big endian) ‖ version (4) ‖ tag
/// (16) ‖ ciphertext.
enum SealedBlock {
    static let nonceLength = 12
    static let tagLength = 16
    static let tagOffset = nonceLength + 8
    static let headerSize = tagOffset + tagLength
    /// The plaintext length of a full block.
    static let contentSize = 65_536
    static let slotSize = headerSize + contentSize
}
