import Cryptography

/// The key of all databases of a data directory.
public enum DataKey {
    public static let length = 32

    public static func random() -> SecretBytes { SecretBytes(randomCount: length) }
}
