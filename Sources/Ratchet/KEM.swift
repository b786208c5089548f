import Cryptography

/// A key encapsulation mechanism: sntrup761 with the lengths of the SimpleX protocol. Thread-safe.
public protocol KEM: Sendable {
    /// Generates a key pair.
    /// - Throws: `.library` if the library fails.
    func generate() throws(RatchetError) -> KEMKey
    /// Returns a new secret and a ciphertext that only the owner of `publicKey` can decapsulate.
    /// - Parameter publicKey: A public key of 1158 bytes.
    /// - Throws: `.malformed` for a key of another length, `.library` if the library fails.
    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation
    /// Returns the secret in a ciphertext of 1039 bytes. A ciphertext for another key gives a wrong secret, no error.
    /// - Throws: `.malformed` for a ciphertext of another length, `.library` if the library fails.
    func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes
}

public enum KEMLength {
    public static let publicKey = 1158
    public static let secretKey = 1763
    public static let ciphertext = 1039
    public static let secret = 32
}

/// A key pair of a KEM.
public struct KEMKey: Sendable {
    /// 1158 bytes.
    public let publicKey: [UInt8]
    /// 1763 bytes.
    public let secretKey: WipedBytes

    /// Returns nil if a length is wrong.
    public init?(publicKey: [UInt8], secretKey: WipedBytes) {
        guard publicKey.count == KEMLength.publicKey, secretKey.count == KEMLength.secretKey else {
            return nil
        }
        self.publicKey = publicKey
        self.secretKey = secretKey
    }
}

/// The result of `KEM.encapsulate(to:)`.
public struct Encapsulation: Sendable {
    /// 1039 bytes.
    public let ciphertext: [UInt8]
    /// 32 bytes.
    public let secret: WipedBytes

    /// Returns nil if a length is wrong.
    public init?(ciphertext: [UInt8], secret: WipedBytes) {
        guard ciphertext.count == KEMLength.ciphertext, secret.count == KEMLength.secret else { return nil }
        self.ciphertext = ciphertext
        self.secret = secret
    }
}

/// One side's KEM fields in its agreement parameters and in every message header.
public enum KEMOffer: Hashable, Sendable {
    /// A key for the peer to encapsulate to.
    case proposed(key: [UInt8])
    /// A ciphertext for the peer's key, and a new key for the peer to encapsulate to.
    case accepted(ciphertext: [UInt8], key: [UInt8])

    /// 1158 bytes.
    public var key: [UInt8] {
        switch self {
        case .proposed(let key), .accepted(_, let key): key
        }
    }
}
