import CSodium

/// The stream cipher of SimpleX for files and chunks: XSalsa20-Poly1305 over one continuous stream with
/// the 16-byte tag last, after one extra HSalsa20 step of the key (simplexmq `Crypto.Lazy`, `sbInit`,
/// `cbInit`). For a raw X25519 result that is NaCl's crypto_box; for a symmetric key it is not
/// libsodium's secretbox of the same key.
///
/// Bytes go through `seal` or `open` in order, in pieces of any length. `transform` reaches any position
/// without order and without authentication. A value: a copy goes its own way.
public struct StreamBox: Sendable {
    public static let keyLength = 32
    public static let nonceLength = 24
    public static let tagLength = 16
    /// Keystream bytes before the first byte of content: the Poly1305 key.
    private static let reserved: UInt64 = 32
    /// Cipher and authenticator go over a piece while it is still in the processor's cache.
    private static let piece = 64 << 10

    private let subkey: SIMD32<UInt8>
    private let shortNonce: SIMD8<UInt8>
    /// Made when the first byte or the tag needs it: most boxes only reach positions.
    private var authenticator: Poly1305?
    /// Bytes of content that went through so far.
    public private(set) var position: UInt64 = 0

    /// - Parameters:
    ///   - key: 32 bytes, a symmetric key or the raw result of an X25519 agreement.
    ///   - nonce: 24 bytes, never used twice with one key.
    /// - Throws: `.invalidKey` for other lengths.
    public init(key: [UInt8], nonce: [UInt8]) throws(CryptographyError) {
        guard key.count == Self.keyLength, nonce.count == Self.nonceLength else {
            throw CryptographyError(.invalidKey, "A file key has 32 bytes and its nonce 24.")
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

    /// Encrypts the next bytes of the stream in place and authenticates the result.
    public mutating func seal(_ bytes: UnsafeMutableRawBufferPointer) {
        seal(UnsafeRawBufferPointer(bytes), into: bytes)
    }

    /// The same from one place to another of at least this length, or in place.
    public mutating func seal(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        inPieces(bytes, target) { box, piece, target in
            box.transform(piece, into: target, at: box.position)
            box.authenticate(UnsafeRawBufferPointer(target))
        }
    }

    /// Authenticates the next bytes of the stream and decrypts them in place. What comes out must not be
    /// trusted before the tag at the end was compared, unless something else vouches for it.
    public mutating func open(_ bytes: UnsafeMutableRawBufferPointer) {
        open(UnsafeRawBufferPointer(bytes), into: bytes)
    }

    /// The same from one place to another of at least this length, or in place.
    public mutating func open(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        inPieces(bytes, target) { box, piece, target in
            let start = box.position
            box.authenticate(piece)
            box.transform(piece, into: target, at: start)
        }
    }

    /// Takes the next ciphertext into the tag without decrypting it: a verification pass.
    public mutating func authenticate(_ ciphertext: UnsafeRawBufferPointer) {
        guard !ciphertext.isEmpty else { return }
        if authenticator == nil { authenticator = makeAuthenticator() }
        authenticator?.update(ciphertext)
        position += UInt64(ciphertext.count)
    }

    /// The tag of everything that went through so far, 16 bytes. Does not end the stream.
    public func tag() -> [UInt8] {
        (authenticator ?? makeAuthenticator()).finalize()
    }

    private func makeAuthenticator() -> Poly1305 {
        withUnsafeBytes(of: keystreamBlock(0)) { block in
            Poly1305(key: UnsafeRawBufferPointer(rebasing: block[..<Poly1305.keyLength]))
        }
    }

    /// Whether `tag` belongs to what went through so far. Compared in constant time.
    public func isAuthentic(_ tag: [UInt8]) -> Bool { constantTimeEqual(self.tag(), tag) }

    /// Encrypts or decrypts bytes of the content positions from `offset` on, in place, without
    /// authentication. Reads nothing that changes: any thread, any order.
    public func transform(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) {
        transform(UnsafeRawBufferPointer(bytes), into: bytes, at: offset)
    }

    /// The same from one place to another of at least this length, or in place.
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

    private func xor(
        from source: UnsafePointer<UInt8>, into destination: UnsafeMutablePointer<UInt8>, count: Int,
        block: UInt64
    ) {
        withUnsafeBytes(of: subkey) { key in
            withUnsafeBytes(of: shortNonce) { nonce in
                _ = crypto_stream_salsa20_xor_ic(
                    destination, source, UInt64(count), Self.bytes(nonce), block, Self.bytes(key))
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
