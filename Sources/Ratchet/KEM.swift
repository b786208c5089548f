import Cryptography

/// A key encapsulation mechanism: sntrup761, with the lengths that SimpleX writes. Any thread.
public protocol KEM: Sendable {
    /// - Throws: `.library` when the library refuses.
    func generate() throws(RatchetError) -> KEMKey
    /// A fresh secret, and what only the holder of `publicKey` (1158 bytes) can make it of.
    /// - Throws: `.malformed` for a key of another length, `.library` when the library refuses.
    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation
    /// The secret in a ciphertext of 1039 bytes. One that was not made for this key gives another secret, and no error.
    /// - Throws: `.malformed` for a ciphertext of another length, `.library` when the library refuses.
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

    /// nil when a length is wrong.
    public init?(publicKey: [UInt8], secretKey: WipedBytes) {
        guard publicKey.count == KEMLength.publicKey, secretKey.count == KEMLength.secretKey else {
            return nil
        }
        self.publicKey = publicKey
        self.secretKey = secretKey
    }
}

/// What `KEM.encapsulate` makes.
public struct Encapsulation: Sendable {
    /// 1039 bytes.
    public let ciphertext: [UInt8]
    /// 32 bytes.
    public let secret: WipedBytes

    /// nil when a length is wrong.
    public init?(ciphertext: [UInt8], secret: WipedBytes) {
        guard ciphertext.count == KEMLength.ciphertext, secret.count == KEMLength.secret else { return nil }
        self.ciphertext = ciphertext
        self.secret = secret
    }
}

/// What one side says of its KEM, with its first keys and in the header of every message.
public enum KEMOffer: Hashable, Sendable {
    /// Here is a key to encapsulate to.
    case proposed(key: [UInt8])
    /// This was encapsulated to the other side's key, and here is the next one.
    case accepted(ciphertext: [UInt8], key: [UInt8])

    /// 1158 bytes.
    public var key: [UInt8] {
        switch self {
        case .proposed(let key), .accepted(_, let key): key
        }
    }
}
