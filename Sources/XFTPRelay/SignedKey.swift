import Base
import Network

/// The relay's X25519 key for a session, signed by the key of its leaf certificate.
enum SignedKey {
    /// `SEQUENCE { SEQUENCE { SubjectPublicKeyInfo }, AlgorithmIdentifier, BIT STRING signature }`; the
    /// signature covers the complete first element (the form of X.509 signed objects).
    static func make(_ key: [UInt8], signedBy identity: ServerIdentity) throws(NetworkError) -> [UInt8] {
        let object = element(0x30, key)
        let signature = try identity.sign(object)
        return element(0x30, object + identity.kind.algorithmIdentifier + element(0x03, [0] + signature))
    }

    /// A DER element of up to 255 bytes.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = UInt8(content.count)
        return (length < 128 ? [tag, length] : [tag, 0x81, length]) + content
    }
}
