import Cryptography

/// The key that all databases of a data directory have in common.
public enum DataKey {
    public static let length = 32

    public static func random() -> SecretBytes { SecretBytes(randomCount: length) }
}
