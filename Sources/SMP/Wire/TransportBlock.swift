import Base
import Cryptography

/// Every exchange with a server, in both directions.
public enum TransportBlock {
    /// Bytes on the wire.
    public static let size = 16_384
    /// What an encrypted block holds, padded.
    static let encryptedContent = size - MessageBox.tagLength
    /// Longest content of a block: transmissions with their count and lengths.
    public static let capacity = encryptedContent - Padding.prefix
}
