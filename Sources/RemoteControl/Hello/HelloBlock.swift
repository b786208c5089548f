import Cryptography

/// The two blocks of 16 KiB that begin a session after the code was confirmed.
enum HelloBlock {
    static let size = 16_384
    /// The bytes of the JSON with its padding, before encryption.
    static let contentSize = 12_288
    static let boxSize = contentSize + MessageBox.tagLength
    static let mark = Array("HELLO ".utf8)
}
