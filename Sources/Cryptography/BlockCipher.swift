import Base
import CKeyMemory
import COpenSSL
import CSodium

/// AES-256-GCM over blocks with a reused OpenSSL context and buffer. The round keys are in locked memory while a
/// borrower uses them and are zeroed afterwards. One thread at a time; `borrow` ensures this.
final class BlockCipher: @unchecked Sendable {
    // Safe: each object belongs to one borrower or to the list of idle objects, never to both.
    private let context: OpaquePointer
    /// Space for one sealed block with its header. The borrower may use it freely.
    let scratch: UnsafeMutableRawBufferPointer

    private static let idle = Lock<[BlockCipher]>([])
    /// The highest number of idle objects. More threads rarely seal at once.
    private static let maxIdle = 16

    private static let algorithm = FetchedAlgorithm(EVP_CIPHER_fetch, "AES-256-GCM")

    private init() {
        guard let made = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        context = made
        scratch = .allocate(byteCount: SealedBlock.slotSize, alignment: 64)
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
        sodium_memzero(scratch.baseAddress!, scratch.count)
        scratch.deallocate()
    }

    static func borrow<Result, Failure: Error>(
        _ body: (BlockCipher) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let cipher = idle.withLock { $0.popLast() } ?? BlockCipher()
        let done = chatfs_init_locked_cipher(cipher.context, algorithm.pointer)
        precondition(done == 1, "out of memory")
        defer {
            EVP_CIPHER_CTX_reset(cipher.context)
            idle.withLock { if $0.count < maxIdle { $0.append(cipher) } }
        }
        return try body(cipher)
    }

    /// Encrypts `plaintext` into `ciphertext` (same length, may be the same memory) and writes the tag.
    func seal(
        _ plaintext: UnsafeRawBufferPointer, into ciphertext: UnsafeMutableRawPointer,
        key: SecretBytes, nonce: UnsafeRawPointer, authenticated: [UInt8], tag: UnsafeMutableRawPointer
    ) throws(CryptographyError) {
        var written: Int32 = 0
        let done =
            start(key: key, nonce: nonce, authenticated: authenticated, encrypt: 1)
            && EVP_CipherUpdate(
                context, Self.bytes(ciphertext), &written, Self.bytes(plaintext.baseAddress),
                Int32(plaintext.count)) == 1
            && EVP_CipherFinal_ex(context, Self.bytes(ciphertext) + Int(written), &written) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(SealedBlock.tagLength), tag) == 1
        guard done else { throw .library("seal a block") }
    }

    /// Decrypts `ciphertext` into `plaintext` (same length, may be the same memory). Returns false if the tag is wrong;
    /// `plaintext` must then not be used.
    func open(
        _ ciphertext: UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawPointer,
        key: SecretBytes, nonce: UnsafeRawPointer, authenticated: [UInt8], tag: UnsafeMutableRawPointer
    ) -> Bool {
        var written: Int32 = 0
        return start(key: key, nonce: nonce, authenticated: authenticated, encrypt: 0)
            && EVP_CipherUpdate(
                context, Self.bytes(plaintext), &written, Self.bytes(ciphertext.baseAddress),
                Int32(ciphertext.count)) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(SealedBlock.tagLength), tag) == 1
            && EVP_CipherFinal_ex(context, Self.bytes(plaintext) + Int(written), &written) == 1
    }

    private func start(
        key: SecretBytes, nonce: UnsafeRawPointer, authenticated: [UInt8], encrypt: Int32
    ) -> Bool {
        var written: Int32 = 0
        return key.withUnsafeBytes { key in
            EVP_CipherInit_ex(context, nil, nil, Self.bytes(key.baseAddress), Self.bytes(nonce), encrypt)
        } == 1
            && EVP_CipherUpdate(context, nil, &written, authenticated, Int32(authenticated.count)) == 1
    }

    private static func bytes(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt8> {
        pointer.assumingMemoryBound(to: UInt8.self)
    }

    private static func bytes(_ pointer: UnsafeRawPointer?) -> UnsafePointer<UInt8>? {
        pointer?.assumingMemoryBound(to: UInt8.self)
    }
}
