import Base
import COpenSSL

/// The public key of an `X448Key`.
public struct X448PublicKey: Hashable, Sendable {
    public static let length = 56
    /// 56 bytes.
    public let rawValue: [UInt8]

    /// Returns nil for another length than 56 bytes.
    public init?(rawValue: [UInt8]) {
        guard rawValue.count == Self.length else { return nil }
        self.rawValue = rawValue
    }

    /// Decodes a SubjectPublicKeyInfo DER of 68 bytes. Returns nil for other bytes.
    public init?(spki: [UInt8]) {
        guard let raw = KeyForm.x448Public.decode(spki) else { return nil }
        rawValue = raw
    }

    public var spki: [UInt8] { KeyForm.x448Public.encode(rawValue) }
}

/// An X448 private key, from OpenSSL. Generating a key and agreeing on a secret take about 0.1 ms each.
public struct X448Key: Sendable {
    public static let length = 56
    /// 56 bytes. Secret.
    public let rawValue: WipedBytes
    public let publicKey: X448PublicKey

    /// - Parameter rawValue: 56 random bytes.
    /// - Throws: `.invalidKey` for another length, `.library`.
    public init(rawValue: WipedBytes) throws(CryptographyError) {
        guard rawValue.count == Self.length else {
            throw CryptographyError(.invalidKey, "An X448 key must have 56 bytes.")
        }
        let key = rawValue.withUnsafeBytes {
            EVP_PKEY_new_raw_private_key_ex(
                nil, "X448", nil, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        guard let key else { throw .library("load a key") }
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

    /// Restores a stored key pair without checking that its halves match, which would take as long as an agreement.
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

    /// Returns the raw X448 result, 56 bytes.
    /// - Throws: `.invalidKey` for a key of small order, whose result is public; `.library`.
    public func sharedSecret(with other: X448PublicKey) throws(CryptographyError) -> WipedBytes {
        let own = try loaded()
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
            throw .library("start an X448 agreement")
        }
        return try WipedBytes(count: Self.length) { (memory) throws(CryptographyError) in
            var count = memory.count
            guard EVP_PKEY_derive(context, memory.bindMemory(to: UInt8.self).baseAddress, &count) == 1 else {
                // A failure leaves an entry in the thread's error queue that would confuse TLS.
                ERR_clear_error()
                throw CryptographyError(.invalidKey, "The peer's X448 key has small order.")
            }
        }
    }

    /// Loads the key pair into OpenSSL. Without the public key, OpenSSL derives it, as slowly as an agreement.
    private func loaded() throws(CryptographyError) -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_from_name(nil, "X448", nil)
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_fromdata_init(context) == 1 else { throw .library("load a key") }
        let (secretName, openName): (StaticString, StaticString) = ("priv", "pub")
        var key: OpaquePointer?
        let isLoaded = rawValue.withUnsafeBytes { secret in
            publicKey.rawValue.withUnsafeBytes { open in
                // OpenSSL only reads the parameters' memory.
                var halves = [
                    Self.parameter(secretName, secret), Self.parameter(openName, open),
                    OSSL_PARAM_construct_end(),
                ]
                return EVP_PKEY_fromdata(context, &key, Self.bothHalves, &halves) == 1
            }
        }
        guard isLoaded, let key else { throw .library("load a key") }
        return key
    }

    private static let bothHalves =
        OSSL_KEYMGMT_SELECT_PRIVATE_KEY | OSSL_KEYMGMT_SELECT_PUBLIC_KEY

    private static func parameter(_ name: StaticString, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        OSSL_PARAM_construct_octet_string(
            UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
            UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
    }
}
