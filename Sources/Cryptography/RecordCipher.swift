import CKeyMemory
import COpenSSL
import CSodium
import Glibc

/// XChaCha20-Poly1305 over one record at a time: the subkey by libsodium (HChaCha20), the rest by OpenSSL, twice as
/// fast as libsodium's own. Where the processor has no AES it costs a quarter of what AES-256-GCM does, and its nonce
/// is long enough to be random each time: whatever processes, kills, copies and restored files do, none repeats.
///
/// One thread at a time.
public final class RecordCipher {
    public static let nonceLength = 24
    static let tagLength = 16
    /// What a sealed record has more than its plaintext: the nonce and then the tag, behind the ciphertext.
    public static let overhead = nonceLength + tagLength
    public static let keyLength = 32

    private let key: SecretBytes
    // Safe: made and freed here, and never given out.
    private let context: OpaquePointer
    private let subkey: UnsafeMutableRawPointer
    private let shortNonce: UnsafeMutableRawPointer

    private static let algorithm = FetchedAlgorithm(EVP_CIPHER_fetch, "ChaCha20-Poly1305")

    private static let subkeyNonceLength = 16
    private static let shortNonceLength = 12

    /// - Parameter key: 32 bytes.
    public init(key: SecretBytes) {
        Sodium.prepare()
        precondition(key.count == Self.keyLength, "a key of the wrong length")
        self.key = key
        guard let made = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        context = made
        let done = chatfs_init_locked_cipher(made, Self.algorithm.pointer)
        precondition(done == 1, "out of memory")
        subkey = .allocate(byteCount: Self.keyLength, alignment: 16)
        shortNonce = .allocate(byteCount: Self.shortNonceLength, alignment: 16)
        // Four zeros and then the part of the nonce that the subkey is not made of.
        shortNonce.initializeMemory(as: UInt8.self, repeating: 0, count: Self.shortNonceLength)
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
        sodium_memzero(subkey, Self.keyLength)
        subkey.deallocate()
        shortNonce.deallocate()
    }

    /// Writes the ciphertext, a fresh nonce and the tag to `sealed`: `overhead` bytes more than the plaintext has.
    /// `place` says where the record belongs; it opens only with the same. False: OpenSSL failed.
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

    /// Writes the plaintext, `overhead` bytes fewer than `sealed` has. False: this is not what was written at this
    /// place with this key, and `plaintext` holds zeros.
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
