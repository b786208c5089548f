import CKeyMemory
import COpenSSL
import CSodium
import Glibc

/// XChaCha20-Poly1305 over single records: HChaCha20 from libsodium, the rest from OpenSSL, which is twice as fast.
/// Without AES instructions it takes a quarter of the time of AES-256-GCM.
///
/// Its nonce is long enough to be random, so it never repeats after kills, copies and restored files. One thread at a
/// time.
public final class RecordCipher {
    public static let nonceLength = 24
    static let tagLength = 16
    /// The bytes that sealing adds: the nonce and then the tag, after the ciphertext.
    public static let overhead = nonceLength + tagLength
    public static let keyLength = 32

    private let key: SecretBytes
    // Safe: owned by this object and never handed out.
    private let context: OpaquePointer
    private let subkey: UnsafeMutableRawPointer
    private let shortNonce: UnsafeMutableRawPointer

    private static let algorithm = FetchedAlgorithm(EVP_CIPHER_fetch, "ChaCha20-Poly1305")

    private static let subkeyNonceLength = 16
    private static let shortNonceLength = 12

    /// - Parameter key: 32 bytes.
    public init(key: SecretBytes) {
        Sodium.prepare()
        precondition(key.count == Self.keyLength, "a key must have 32 bytes")
        self.key = key
        guard let made = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        context = made
        let done = chatfs_init_locked_cipher(made, Self.algorithm.pointer)
        precondition(done == 1, "out of memory")
        subkey = .allocate(byteCount: Self.keyLength, alignment: 16)
        shortNonce = .allocate(byteCount: Self.shortNonceLength, alignment: 16)
        // Four zeros, then the last 8 bytes of the nonce.
        shortNonce.initializeMemory(as: UInt8.self, repeating: 0, count: Self.shortNonceLength)
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
        sodium_memzero(subkey, Self.keyLength)
        subkey.deallocate()
        shortNonce.deallocate()
    }

    /// Writes the ciphertext, a new nonce and the tag to `sealed`, `overhead` bytes more than the plaintext. Returns
    /// false if OpenSSL failed.
    /// - Parameter place: Identifies the record's position. It opens only with the same value.
    public func seal(
        _ plaintext: UnsafeRawBufferPointer, authenticating place: UnsafeRawBufferPointer,
        into sealed: UnsafeMutableRawPointer
    ) -> Bool {
        let nonce = sealed + plaintext.count
        randombytes_buf(nonce, Self.nonceLength)
        var written: Int32 = 0
        let done =
            start(nonce: nonce, place: place, encrypt: 1)
            && EVP_CipherUpdate(
                context, Self.space(sealed), &written, Self.bytes(plaintext.baseAddress),
                Int32(plaintext.count)) == 1
            && EVP_CipherFinal_ex(context, Self.space(sealed) + Int(written), &written) == 1
            && EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), nonce + Self.nonceLength) == 1
        sodium_memzero(subkey, Self.keyLength)
        return done
    }

    /// Decrypts a record into `plaintext`, `overhead` bytes less than `sealed`. Returns false, with zeros in
    /// `plaintext`, if key, place or bytes differ from those sealed.
    public func open(
        _ sealed: UnsafeRawBufferPointer, authenticating place: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawPointer
    ) -> Bool {
        let count = sealed.count - Self.overhead
        guard count >= 0, let start = sealed.baseAddress else { return false }
        let nonce = start + count
        let tag = UnsafeMutableRawPointer(mutating: nonce + Self.nonceLength)
        var written: Int32 = 0
        let done =
            self.start(nonce: nonce, place: place, encrypt: 0)
            && EVP_CipherUpdate(
                context, Self.space(plaintext), &written, Self.bytes(start), Int32(count)) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), tag) == 1
            && EVP_CipherFinal_ex(context, Self.space(plaintext) + Int(written), &written) == 1
        sodium_memzero(subkey, Self.keyLength)
        if !done { memset(plaintext, 0, count) }
        return done
    }

    private func start(nonce: UnsafeRawPointer, place: UnsafeRawBufferPointer, encrypt: Int32) -> Bool {
        let derived = key.withUnsafeBytes { key in
            crypto_core_hchacha20(
                Self.space(subkey), Self.bytes(nonce)!, Self.bytes(key.baseAddress)!, nil)
        }
        (shortNonce + 4).copyMemory(
            from: nonce + Self.subkeyNonceLength, byteCount: Self.nonceLength - Self.subkeyNonceLength)
        guard
            derived == 0,
            EVP_CipherInit_ex(context, nil, nil, Self.bytes(subkey), Self.bytes(shortNonce), encrypt) == 1
        else { return false }
        var written: Int32 = 0
        return EVP_CipherUpdate(
            context, nil, &written, Self.bytes(place.baseAddress), Int32(place.count)) == 1
    }

    // Another name than `bytes`: Swift 6.2 cannot decide between both where a constant pointer is wanted.
    private static func space(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt8> {
        pointer.assumingMemoryBound(to: UInt8.self)
    }

    private static func bytes(_ pointer: UnsafeRawPointer?) -> UnsafePointer<UInt8>? {
        pointer?.assumingMemoryBound(to: UInt8.self)
    }
}
