import COpenSSL

/// The private key of a certificate. Immutable.
final class PrivateKey: @unchecked Sendable {
    // Safe: an EVP_PKEY is only read after creation, and its reference count is atomic.
    let pointer: OpaquePointer
    let kind: CertificateKind

    private init(adopting pointer: OpaquePointer, kind: CertificateKind) {
        self.pointer = pointer
        self.kind = kind
    }

    deinit { EVP_PKEY_free(pointer) }

    static func generate(_ kind: CertificateKind) throws(NetworkError) -> PrivateKey {
        let context = EVP_PKEY_CTX_new_id(kind.openSSL, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_keygen(context, &key) == 1, let key else {
            throw NetworkError(.configuration, "No key could be made: \(takeOpenSSLReason()).")
        }
        return PrivateKey(adopting: key, kind: kind)
    }

    /// Creates the Ed25519 key of a seed of 32 bytes.
    convenience init(ed25519 seed: [UInt8]) throws(NetworkError) {
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            throw NetworkError(.configuration, "The private key cannot be read: \(takeOpenSSLReason()).")
        }
        self.init(adopting: key, kind: .ed25519)
    }

    /// The seed: 32 bytes for Ed25519, 57 for Ed448. Secret.
    var seed: [UInt8] {
        var (bytes, count) = ([UInt8](repeating: 0, count: 64), 64)
        guard EVP_PKEY_get_raw_private_key(pointer, &bytes, &count) == 1 else { return [] }
        return Array(bytes.prefix(count))
    }

    /// Reads `-----BEGIN PRIVATE KEY-----`.
    convenience init(pem: [UInt8]) throws(NetworkError) {
        // The empty pass phrase keeps OpenSSL from prompting on the terminal.
        let key = withReadingBIO(pem) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in 0 }, nil) }
        guard let key else {
            throw NetworkError(.configuration, "The private key cannot be read: \(takeOpenSSLReason()).")
        }
        guard let kind = CertificateKind(openSSL: EVP_PKEY_get_id(key)) else {
            EVP_PKEY_free(key)
            throw NetworkError(.configuration, "The private key is neither Ed25519 nor Ed448.")
        }
        self.init(adopting: key, kind: kind)
    }

    /// Unencrypted PKCS#8 as PEM text.
    func pem() -> [UInt8] {
        collectedFromBIO { PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil) }
    }

    /// 64 bytes for Ed25519, 114 for Ed448.
    func sign(_ bytes: [UInt8]) throws(NetworkError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 128)
        var length = signature.count
        guard EVP_DigestSignInit(context, nil, nil, nil, pointer) == 1,
            EVP_DigestSign(context, &signature, &length, bytes, bytes.count) == 1
        else { throw NetworkError(.configuration, "Signing failed: \(takeOpenSSLReason()).") }
        signature.removeLast(signature.count - length)
        return signature
    }
}

/// Calls `read` with a BIO over bytes in memory.
func withReadingBIO<Result>(_ bytes: [UInt8], _ read: (OpaquePointer?) -> Result) -> Result {
    bytes.withUnsafeBytes { raw in
        let bio = BIO_new_mem_buf(raw.baseAddress, Int32(clamping: raw.count))
        defer { BIO_free(bio) }
        return read(bio)
    }
}

/// Returns the bytes that `write` puts into a BIO.
func collectedFromBIO(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    guard write(bio) == 1 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: BIO_ctrl_pending(bio)) { buffer, count in
        count = max(0, Int(BIO_read(bio, buffer.baseAddress, Int32(clamping: buffer.count))))
    }
}
