import Base
import Cryptography

/// The two blocks of 16 KiB with which a session begins once the person has confirmed the code.
enum HelloBlock {
    static let size = 16_384
    /// Bytes of the JSON with its padding, before it is encrypted.
    static let contentSize = 12_288
    static let boxSize = contentSize + MessageBox.tagLength
    static let mark = Array("HELLO ".utf8)
}
