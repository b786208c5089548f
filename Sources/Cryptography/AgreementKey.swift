import Base
import CSodium

/// An X25519 private key, made fresh for every request of a chunk.
public struct AgreementKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: [UInt8]
    private let rawPublicKey: [UInt8]

    /// - Parameter rawValue: 32 random bytes.
    /// - Throws: `.invalidKey` for another number of bytes, `.library`.
    public init(rawValue: [UInt8]) throws(CryptographyError) {
        guard rawValue.count == 32 else {
            throw CryptographyError(.invalidKey, "A key for an agreement has 32 bytes.")
        }
        Sodium.prepare()
        var publicKey = [UInt8](repeating: 0, count: 32)
        guard crypto_scalarmult_curve25519_base(&publicKey, rawValue) == 0 else {
            throw .library("derive a public key")
        }
        secret = rawValue
        rawPublicKey = publicKey
    }

    public static func generate(random: some RandomSource = SystemRandomSource()) -> AgreementKey {
        guard let key = try? AgreementKey(rawValue: random.bytes(32)) else {
            preconditionFailure("a random source gave the wrong number of bytes")
        }
        return key
    }

    /// SubjectPublicKeyInfo DER, 44 bytes.
    public var publicKey: [UInt8] { KeyForm.x25519Public.encode(rawPublicKey) }
    /// PKCS#8 DER, 48 bytes. A secret.
    public var pkcs8: [UInt8] { KeyForm.x25519Private.encode(secret) }

    /// The raw result of the agreement, 32 bytes: the key of a `StreamBox`. Refuses keys of another kind
    /// and those of small order, which would make the result known to everybody.
    /// - Throws: `.invalidKey` for those.
    public func sharedSecret(with spki: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let other = KeyForm.x25519Public.decode(spki) else {
            throw CryptographyError(.invalidKey, "The other side's key is no X25519 key.")
        }
        var shared = [UInt8](repeating: 0, count: 32)
        guard crypto_scalarmult_curve25519(&shared, secret, other) == 0 else {
            throw CryptographyError(.invalidKey, "The other side's X25519 key is of small order.")
        }
        return shared
    }

    /// The same, where it outlives a chunk.
    /// - Throws: as `sharedSecret`.
    public func wipedSecret(with spki: [UInt8]) throws(CryptographyError) -> WipedBytes {
        var shared = try sharedSecret(with: spki)
        return WipedBytes(taking: &shared)
    }

    /// Whether these bytes are a SubjectPublicKeyInfo of an X25519 key.
    public static func isPublicKey(_ spki: [UInt8]) -> Bool { KeyForm.x25519Public.decode(spki) != nil }

    public var description: String { "AgreementKey(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
