import Base
import CSodium

/// An X25519 private key. ChatFS generates one for each chunk request.
public struct AgreementKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: [UInt8]
    private let rawPublicKey: [UInt8]

    /// - Parameter rawValue: 32 random bytes.
    /// - Throws: `.invalidKey` for another length, `.library`.
    public init(rawValue: [UInt8]) throws(CryptographyError) {
        guard rawValue.count == 32 else {
            throw CryptographyError(.invalidKey, "An X25519 key must have 32 bytes.")
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

    /// The public key as SubjectPublicKeyInfo DER, 44 bytes.
    public var publicKey: [UInt8] { KeyForm.x25519Public.encode(rawPublicKey) }
    /// The private key as PKCS#8 DER, 48 bytes. Secret.
    public var pkcs8: [UInt8] { KeyForm.x25519Private.encode(secret) }

    /// Returns the raw X25519 result, 32 bytes: the key of a `StreamBox`.
    /// - Parameter spki: The peer's public key as SubjectPublicKeyInfo.
    /// - Throws: `.invalidKey` for another kind of key, or for one of small order, whose result is public.
    public func sharedSecret(with spki: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let other = KeyForm.x25519Public.decode(spki) else {
            throw CryptographyError(.invalidKey, "The peer's key is not an X25519 key.")
        }
        var shared = [UInt8](repeating: 0, count: 32)
        guard crypto_scalarmult_curve25519(&shared, secret, other) == 0 else {
            throw CryptographyError(.invalidKey, "The peer's X25519 key has small order.")
        }
        return shared
    }

    /// Returns `sharedSecret(with:)` in memory that is wiped after use.
    /// - Throws: The errors of `sharedSecret(with:)`.
    public func wipedSecret(with spki: [UInt8]) throws(CryptographyError) -> WipedBytes {
        var shared = try sharedSecret(with: spki)
        return WipedBytes(taking: &shared)
    }

    /// Returns whether the bytes are the SubjectPublicKeyInfo of an X25519 key.
    public static func isPublicKey(_ spki: [UInt8]) -> Bool { KeyForm.x25519Public.decode(spki) != nil }

    public var description: String { "AgreementKey(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
