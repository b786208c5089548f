import Base
import Cryptography

/// The unit of every exchange with a server, in both directions.
public enum TransportBlock {
    /// The length of a block in bytes.
    public static let size = 16_384
    /// The padded content of an encrypted block in bytes.
    static let encryptedContent = size - MessageBox.tagLength
    /// The maximum content of a block: transmissions with their count and lengths.
    public static let capacity = encryptedContent - Padding.prefix
}
