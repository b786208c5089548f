/// How a block of a sealed file lies on the disk, in bytes: nonce (12) ‖ length of the plaintext (4, big endian) ‖
/// version (4) ‖ tag (16), in front of the ciphertext.
enum SealedBlock {
    static let nonceLength = 12
    static let tagLength = 16
    static let tagOffset = nonceLength + 8
    static let headerSize = tagOffset + tagLength
    /// Plaintext of a whole block.
    static let contentSize = 65_536
    static let slotSize = headerSize + contentSize
}
