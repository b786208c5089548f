import COpenSSL

/// AES-256-GCM with nonces of 16 bytes, as in SimpleX messages. GCM hashes such a nonce into the first counter, so
/// truncating it to 12 bytes gives another result.
public enum LongNonceCipher {
    public static let keyLength = 32
    public static let nonceLength = 16
    public static let tagLength = 16

    private static let algorithm = FetchedAlgorithm(EVP_CIPHER_fetch, "AES-256-GCM")

    /// Encrypts and authenticates a message.
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - nonce: 16 bytes, never reused with one key.
    ///   - authenticated: Additional authenticated data.
    public static func seal(
        _ plaintext: [UInt8], key: WipedBytes, nonce: [UInt8], authenticated: [UInt8]
    ) -> (ciphertext: [UInt8], tag: [UInt8]) {
        var tag = [UInt8](repeating: 0, count: tagLength)
        let ciphertext = withContext(key: key, nonce: nonce, authenticated: authenticated, encrypt: 1) {
            context in
            let ciphertext = update(context, plaintext)
            var written: Int32 = 0
            var none: UInt8 = 0
            let done =
                EVP_CipherFinal_ex(context, &none, &written) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), &tag) == 1
            precondition(done, "OpenSSL failed to compute a tag")
            return ciphertext
        }
        return (ciphertext, tag)
    }

    /// Decrypts a message. Returns nil if the tag is wrong. Compares tags in constant time.
    public static func open(
        _ ciphertext: [UInt8], tag: [UInt8], key: WipedBytes, nonce: [UInt8], authenticated: [UInt8]
    ) -> [UInt8]? {
        guard tag.count == tagLength else { return nil }
        return withContext(key: key, nonce: nonce, authenticated: authenticated, encrypt: 0) { context in
            let plaintext = update(context, ciphertext)
            var (written, none): (Int32, UInt8) = (0, 0)
            var tag = tag
            let isAuthentic =
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &tag) == 1
                && EVP_CipherFinal_ex(context, &none, &written) == 1
            return isAuthentic ? plaintext : nil
        }
    }

    private static func update(_ context: OpaquePointer, _ input: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: input.count) { buffer, count in
            var written: Int32 = 0
            let done =
                input.isEmpty
                || EVP_CipherUpdate(context, buffer.baseAddress, &written, input, Int32(input.count)) == 1
            precondition(done && Int(written) == input.count, "OpenSSL failed to encrypt")
            count = input.count
        }
    }

    private static func withContext<Result>(
        key: WipedBytes, nonce: [UInt8], authenticated: [UInt8], encrypt: Int32,
        _ body: (OpaquePointer) -> Result
    ) -> Result {
        precondition(
            key.count == keyLength && nonce.count == nonceLength, "wrong length of key or nonce")
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        // Also wipes the round keys.
        defer { EVP_CIPHER_CTX_free(context) }
        var written: Int32 = 0
        let started =
            EVP_CipherInit_ex(context, algorithm.pointer, nil, nil, nil, encrypt) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonceLength), nil) == 1
            && key.withUnsafeBytes {
                EVP_CipherInit_ex(
                    context, nil, nil, $0.bindMemory(to: UInt8.self).baseAddress, nonce, encrypt)
            } == 1
            && (authenticated.isEmpty
                || EVP_CipherUpdate(context, nil, &written, authenticated, Int32(authenticated.count)) == 1)
        precondition(started, "OpenSSL failed to initialize a cipher")
        return body(context)
    }
}
