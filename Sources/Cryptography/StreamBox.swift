import CSalsa20
import CSodium

/// The stream cipher of SimpleX for files and chunks: XSalsa20-Poly1305 over one stream, the 16-byte tag last, after an
/// extra HSalsa20 step of the key (simplexmq `Crypto.Lazy`, `sbInit`, `cbInit`). For a raw X25519 result it equals
/// NaCl's crypto_box; for a symmetric key it differs from libsodium's secretbox.
///
/// `seal` and `open` process the stream in order, in pieces of any length. `transform` works at any position without
/// authentication. Copies are independent.
public struct StreamBox: Sendable {
    public static let keyLength = 32
    public static let nonceLength = 24
    public static let tagLength = 16
    /// Keystream bytes before the content: the Poly1305 key.
    private static let reserved: UInt64 = 32
    /// Bytes per step, so that both passes run in the processor's cache.
    private static let piece = 64 << 10

    private let subkey: SIMD32<UInt8>
    private let shortNonce: SIMD8<UInt8>
    /// Created on first use, because most boxes only transform.
    private var authenticator: Poly1305?
    /// The number of content bytes processed in order.
    public private(set) var position: UInt64 = 0

    /// - Parameters:
    ///   - key: 32 bytes, a symmetric key or the raw result of X25519.
    ///   - nonce: 24 bytes, never reused with one key.
    /// - Throws: `.invalidKey` for other lengths.
    public init(key: [UInt8], nonce: [UInt8]) throws(CryptographyError) {
        guard key.count == Self.keyLength, nonce.count == Self.nonceLength else {
            throw CryptographyError(.invalidKey, "A file key must have 32 bytes and its nonce 24.")
        }
        Sodium.prepare()
        let zeros = [UInt8](repeating: 0, count: 16)
        var first = SIMD32<UInt8>()
        var second = SIMD32<UInt8>()
        withUnsafeMutableBytes(of: &first) { step in
            _ = crypto_core_hsalsa20(Self.bytes(step), zeros, key, nil)
        }
        withUnsafeMutableBytes(of: &second) { result in
            withUnsafeBytes(of: first) { step in
                _ = crypto_core_hsalsa20(Self.bytes(result), nonce, Self.bytes(step), nil)
            }
        }
        subkey = second
        var tail = SIMD8<UInt8>()
        for index in 0..<8 { tail[index] = nonce[16 + index] }
        shortNonce = tail
    }

    /// Encrypts and authenticates the next bytes in place.
    public mutating func seal(_ bytes: UnsafeMutableRawBufferPointer) {
        seal(UnsafeRawBufferPointer(bytes), into: bytes)
    }

    /// Encrypts and authenticates the next bytes into `target`, which is at least as long and may be the same memory.
    public mutating func seal(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        inPieces(bytes, target) { box, piece, target in
            box.transform(piece, into: target, at: box.position)
            box.authenticate(UnsafeRawBufferPointer(target))
        }
    }

    /// Authenticates and decrypts the next bytes in place. Do not trust them before the tag was compared, unless
    /// another check covers them.
    public mutating func open(_ bytes: UnsafeMutableRawBufferPointer) {
        open(UnsafeRawBufferPointer(bytes), into: bytes)
    }

    /// Authenticates and decrypts the next bytes into `target`, which is at least as long and may be the same memory.
    public mutating func open(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        inPieces(bytes, target) { box, piece, target in
            let start = box.position
            box.authenticate(piece)
            box.transform(piece, into: target, at: start)
        }
    }

    /// Authenticates the next ciphertext without decrypting it.
    public mutating func authenticate(_ ciphertext: UnsafeRawBufferPointer) {
        guard !ciphertext.isEmpty else { return }
        if authenticator == nil { authenticator = makeAuthenticator() }
        authenticator?.update(ciphertext)
        position += UInt64(ciphertext.count)
    }

    /// Returns the tag of all bytes so far, 16 bytes. More may follow.
    public func tag() -> [UInt8] {
        (authenticator ?? makeAuthenticator()).finalize()
    }

    /// The length of a start that `skipStart` leaves out.
    static let startLength = 16

    /// Leaves out the first 16 bytes of the stream, which `tag(start:)` adds.
    mutating func skipStart() {
        precondition(position == 0, "only the first bytes can be left out")
        let zeros = [UInt8](repeating: 0, count: Self.startLength)
        zeros.withUnsafeBytes { authenticate($0) }
    }

    /// Returns the tag of all bytes so far after `skipStart`. Their number must be a multiple of 16.
    /// - Parameter start: The first 16 bytes of the ciphertext.
    func tag(start: [UInt8]) -> [UInt8] {
        let key = withUnsafeBytes(of: keystreamBlock(0)) { Array($0[..<Poly1305.keyLength]) }
        return (authenticator ?? makeAuthenticator()).tag(start: start, length: position, key: key)
    }

    private func makeAuthenticator() -> Poly1305 {
        withUnsafeBytes(of: keystreamBlock(0)) { block in
            Poly1305(key: UnsafeRawBufferPointer(rebasing: block[..<Poly1305.keyLength]))
        }
    }

    /// Returns whether `tag` matches all bytes so far. Compares in constant time.
    public func isAuthentic(_ tag: [UInt8]) -> Bool { constantTimeEqual(self.tag(), tag) }

    /// Encrypts or decrypts content bytes from position `offset` on, in place, without authentication. Thread-safe, in
    /// any order.
    public func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) {
        transform(UnsafeRawBufferPointer(bytes), into: bytes, at: offset)
    }

    /// Encrypts or decrypts into `target`, which is at least as long and may be the same memory.
    public func transform(
        _ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) {
        precondition(target.count >= bytes.count, "the target is too small")
        guard let start = bytes.baseAddress, let targetStart = target.baseAddress else { return }
        let keystreamPosition = offset &+ Self.reserved
        let skip = Int(keystreamPosition % 64)
        var block = keystreamPosition / 64
        var done = 0
        if skip != 0 {
            done = min(64 - skip, bytes.count)
            var keystream = keystreamBlock(block)
            withUnsafeBytes(of: &keystream) { keystream in
                for index in 0..<done { target[index] = bytes[index] ^ keystream[skip + index] }
            }
            block &+= 1
        }
        guard done < bytes.count else { return }
        xor(
            from: (start + done).assumingMemoryBound(to: UInt8.self),
            into: (targetStart + done).assumingMemoryBound(to: UInt8.self), count: bytes.count - done,
            block: block)
    }

    private func keystreamBlock(_ block: UInt64) -> SIMD64<UInt8> {
        let zeros = SIMD64<UInt8>()
        var keystream = SIMD64<UInt8>()
        withUnsafeMutableBytes(of: &keystream) { result in
            withUnsafeBytes(of: zeros) { zeros in
                xor(from: Self.bytes(zeros), into: Self.bytes(result), count: 64, block: block)
            }
        }
        return keystream
    }

    private static let hasWideCipher = chatfs_salsa20_is_supported() == 1

    private func xor(
        from source: UnsafePointer<UInt8>, into destination: UnsafeMutablePointer<UInt8>, count: Int,
        block: UInt64
    ) {
        withUnsafeBytes(of: subkey) { key in
            withUnsafeBytes(of: shortNonce) { nonce in
                let (key, nonce) = (Self.bytes(key), Self.bytes(nonce))
                let done =
                    Self.hasWideCipher
                    ? chatfs_salsa20_xor(destination, source, count, nonce, block, key) : 0
                guard done < count else { return }
                _ = crypto_stream_salsa20_xor_ic(
                    destination + done, source + done, UInt64(count - done), nonce,
                    block &+ UInt64(done / 64), key)
            }
        }
    }

    private mutating func inPieces(
        _ bytes: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer,
        _ body: (inout StreamBox, UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void
    ) {
        precondition(target.count >= bytes.count, "the target is too small")
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.piece, bytes.count)
            body(
                &self, UnsafeRawBufferPointer(rebasing: bytes[start..<end]),
                UnsafeMutableRawBufferPointer(rebasing: target[start..<end]))
            start = end
        }
    }

    private static func bytes(_ buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8> {
        buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
    }

    private static func bytes(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<UInt8> {
        buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
    }
}
