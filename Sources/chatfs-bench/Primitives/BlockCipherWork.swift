import COpenSSL

/// An authenticated cipher over blocks of one length, as TLS and the sealed cache use theirs. What comes out
/// is of no use: keys are fixed and tags are not compared, which takes the time that it takes.
final class BlockCipherWork {
    enum Algorithm { case chacha20Poly1305, aes256GCM }

    private let context: OpaquePointer
    private let blockLength: Int

    init(_ algorithm: Algorithm, block: Int) {
        guard let made = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        context = made
        blockLength = block
        let cipher =
            switch algorithm {
            case .chacha20Poly1305: EVP_chacha20_poly1305()
            case .aes256GCM: EVP_aes_256_gcm()
            }
        let done = EVP_CipherInit_ex(made, cipher, nil, [UInt8](repeating: 7, count: 32), nil, -1)
        precondition(done == 1, "OpenSSL lacks a cipher")
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    func seal(_ bytes: UnsafeMutableRawBufferPointer) { run(bytes, encrypt: 1) }

    func open(_ bytes: UnsafeMutableRawBufferPointer) { run(bytes, encrypt: 0) }

    private func run(_ bytes: UnsafeMutableRawBufferPointer, encrypt: Int32) {
        let nonce = [UInt8](repeating: 3, count: 12)
        var tag = [UInt8](repeating: 0, count: 16)
        var start = 0
        while start < bytes.count {
            let block = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + start
            let count = min(blockLength, bytes.count - start)
            var written: Int32 = 0
            EVP_CipherInit_ex(context, nil, nil, nil, nonce, encrypt)
            EVP_CipherUpdate(context, block, &written, block, Int32(count))
            if encrypt == 0 { EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) }
            // Opening finds a wrong tag after all of its work.
            EVP_CipherFinal_ex(context, block, &written)
            if encrypt == 1 { EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) }
            start += count
        }
    }
}
