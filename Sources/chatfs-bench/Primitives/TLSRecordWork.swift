import COpenSSL

/// The cipher of TLS on records of the maximum length. The output is useless: keys are constant and tags are not
/// compared, which takes the same time.
final class TLSRecordWork {
    private static let recordLength = 16 << 10
    private let context: OpaquePointer

    init() {
        guard let made = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        context = made
        let done = EVP_CipherInit_ex(
            made, EVP_chacha20_poly1305(), nil, [UInt8](repeating: 7, count: 32), nil, -1)
        precondition(done == 1, "OpenSSL lacks ChaCha20-Poly1305")
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// Decrypts in place.
    func open(_ bytes: UnsafeMutableRawBufferPointer) {
        let nonce = [UInt8](repeating: 3, count: 12)
        var tag = [UInt8](repeating: 0, count: 16)
        var start = 0
        while start < bytes.count {
            let record = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + start
            let count = min(Self.recordLength, bytes.count - start)
            var written: Int32 = 0
            EVP_CipherInit_ex(context, nil, nil, nil, nonce, 0)
            EVP_CipherUpdate(context, record, &written, record, Int32(count))
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag)
            // A wrong tag is found after all of the work.
            EVP_CipherFinal_ex(context, record, &written)
            start += count
        }
    }
}
