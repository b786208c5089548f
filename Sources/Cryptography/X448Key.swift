import Base
import COpenSSL

/// The public half of an `X448Key`.
public struct X448PublicKey: Hashable, Sendable {
    public static let length = 56
    /// 56 bytes.
    public let rawValue: [UInt8]

    /// nil when these are not 56 bytes.
    public init?(rawValue: [UInt8]) {
        guard rawValue.count == Self.length else { return nil }
        self.rawValue = rawValue
    }

    /// The key in a SubjectPublicKeyInfo DER of 68 bytes, or nil when the bytes are anything else.
    public init?(spki: [UInt8]) {
        guard let raw = KeyForm.x448Public.decode(spki) else { return nil }
        rawValue = raw
    }

    public var spki: [UInt8] { KeyForm.x448Public.encode(rawValue) }
}

/// An X448 private key, through OpenSSL. One agreement takes some 0.2 ms.
public struct X448Key: Sendable {
    public static let length = 56
    /// 56 bytes. A secret.
    public let rawValue: WipedBytes
    public let publicKey: X448PublicKey

    /// - Parameter rawValue: 56 random bytes.
    public init(rawValue: WipedBytes) throws(CryptographyError) {
        let key = try Self.loaded(rawValue)
        defer { EVP_PKEY_free(key) }
        var raw = [UInt8](repeating: 0, count: X448PublicKey.length)
        var count = raw.count
        guard EVP_PKEY_get_raw_public_key(key, &raw, &count) == 1,
            let publicKey = X448PublicKey(rawValue: raw)
        else {
            throw .library("derive a public key")
        }
        self.rawValue = rawValue
        self.publicKey = publicKey
    }

    /// A key whose halves were stored together; that they belong together is not checked again, which would take as
    /// long as an agreement.
    public init?(rawValue: WipedBytes, publicKey: X448PublicKey) {
        guard rawValue.count == Self.length else { return nil }
        self.rawValue = rawValue
        self.publicKey = publicKey
    }

    public static func generate(random: some RandomSource = SystemRandomSource()) -> X448Key {
        var bytes = random.bytes(length)
        guard let key = try? X448Key(rawValue: WipedBytes(taking: &bytes)) else {
            preconditionFailure("a random source gave the wrong number of bytes")
        }
        return key
    }

    /// The raw result of the agreement, 56 bytes. Refuses keys of small order, which would make it known to everybody.
    public func sharedSecret(with other: X448PublicKey) throws(CryptographyError) -> WipedBytes {
        let own = try Self.loaded(rawValue)
        defer { EVP_PKEY_free(own) }
        guard
            let peer = EVP_PKEY_new_raw_public_key_ex(nil, "X448", nil, other.rawValue, X448PublicKey.length),
            let context = EVP_PKEY_CTX_new_from_pkey(nil, own, nil)
        else { throw .library("load a key") }
        defer {
            EVP_PKEY_free(peer)
            EVP_PKEY_CTX_free(context)
        }
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1 else {
            ERR_clear_error()
            throw .library("begin an agreement")
        }
        return try WipedBytes(count: Self.length) { (memory) throws(CryptographyError) in
            var count = memory.count
            guard EVP_PKEY_derive(context, memory.bindMemory(to: UInt8.self).baseAddress, &count) == 1 else {
                // A refusal leaves a note in the thread's error queue that TLS would trip over.
                ERR_clear_error()
                throw CryptographyError(.invalidKey, "The other side's X448 key is of small order.")
            }
        }
    }

    private static func loaded(_ raw: WipedBytes) throws(CryptographyError) -> OpaquePointer {
        guard raw.count == length else {
            throw CryptographyError(.invalidKey, "An X448 key has 56 bytes.")
        }
        let key = raw.withUnsafeBytes {
            EVP_PKEY_new_raw_private_key_ex(
                nil, "X448", nil, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        guard let key else { throw .library("load a key") }
        return key
    }
}
