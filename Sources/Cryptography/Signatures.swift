import Base
import COpenSSL
import CSodium

/// An Ed25519 private key that signs commands to a relay. It leaves the process only inside file descriptions.
public struct SigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The 32 bytes from which the key pair is derived. Secret.
    public let seed: [UInt8]
    private let rawPublicKey: [UInt8]
    private let secretKey: [UInt8]

    /// - Parameter seed: 32 random bytes.
    /// - Throws: `.invalidKey` for another length.
    public init(seed: [UInt8]) throws(CryptographyError) {
        guard seed.count == 32 else {
            throw CryptographyError(.invalidKey, "The seed of a signing key must have 32 bytes.")
        }
        Sodium.prepare()
        var publicKey = [UInt8](repeating: 0, count: 32)
        var secretKey = [UInt8](repeating: 0, count: 64)
        crypto_sign_ed25519_seed_keypair(&publicKey, &secretKey, seed)
        self.seed = seed
        rawPublicKey = publicKey
        self.secretKey = secretKey
    }

    /// Decodes a PKCS#8 DER of 48 bytes. Returns nil for other bytes.
    public init?(pkcs8: [UInt8]) {
        guard let seed = KeyForm.ed25519Private.decode(pkcs8) else { return nil }
        try? self.init(seed: seed)
    }

    public static func generate(random: some RandomSource = SystemRandomSource()) -> SigningKey {
        guard let key = try? SigningKey(seed: random.bytes(32)) else {
            preconditionFailure("a random source gave the wrong number of bytes")
        }
        return key
    }

    /// The public key as SubjectPublicKeyInfo DER, 44 bytes.
    public var publicKey: [UInt8] { KeyForm.ed25519Public.encode(rawPublicKey) }
    /// The private key as PKCS#8 DER, 48 bytes. Secret.
    public var pkcs8: [UInt8] { KeyForm.ed25519Private.encode(seed) }
    public var verifyingKey: VerifyingKey { VerifyingKey(ed25519: rawPublicKey) }

    /// Returns a signature of 64 bytes.
    public func sign(_ bytes: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        crypto_sign_ed25519_detached(&signature, nil, bytes, UInt64(bytes.count), secretKey)
        return signature
    }

    public var description: String { "SigningKey(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An Ed25519 or Ed448 public key of a command's author or a relay's certificate.
public struct VerifyingKey: Hashable, Sendable {
    public enum Algorithm: Hashable, Sendable {
        case ed25519
        case ed448
    }

    public let algorithm: Algorithm
    private let raw: [UInt8]

    init(ed25519 raw: [UInt8]) {
        algorithm = .ed25519
        self.raw = raw
    }

    /// Decodes a SubjectPublicKeyInfo DER. Returns nil for other keys and malformed bytes.
    public init?(spki: [UInt8]) {
        if let raw = KeyForm.ed25519Public.decode(spki) {
            (algorithm, self.raw) = (.ed25519, raw)
        } else if let raw = KeyForm.ed448Public.decode(spki) {
            (algorithm, self.raw) = (.ed448, raw)
        } else {
            return nil
        }
    }

    public var spki: [UInt8] {
        switch algorithm {
        case .ed25519: KeyForm.ed25519Public.encode(raw)
        case .ed448: KeyForm.ed448Public.encode(raw)
        }
    }

    /// Returns whether `signature` (64 bytes, or 114 for Ed448) is valid for the bytes.
    public func isValid(_ signature: [UInt8], for bytes: [UInt8]) -> Bool {
        switch algorithm {
        case .ed25519:
            Sodium.prepare()
            return signature.count == 64
                && crypto_sign_ed25519_verify_detached(signature, bytes, UInt64(bytes.count), raw) == 0
        case .ed448:
            return signature.count == 114 && isValidEd448(signature, for: bytes)
        }
    }

    /// libsodium has no Ed448.
    private func isValidEd448(_ signature: [UInt8], for bytes: [UInt8]) -> Bool {
        guard let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED448", nil, raw, raw.count) else {
            return false
        }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        let valid = EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
        // A failed verification leaves an entry in the thread's error queue that would confuse TLS.
        if !valid { ERR_clear_error() }
        return valid
    }
}
