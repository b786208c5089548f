import COpenSSL

/// SHA-256 through OpenSSL, four times as fast as libsodium's: the digest of a chunk and of a certificate.
public struct SHA256: Sendable {
    public static let length = 32
    private var digest = Digest(.sha256)

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }
    public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digest.update($0) } }
    /// The hash of everything so far, 32 bytes. More may follow.
    public func finalize() -> [UInt8] { digest.finalize() }

    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    public static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }
}

/// SHA-512 through OpenSSL: the digest of a whole encrypted file.
public struct SHA512: Sendable {
    public static let length = 64
    private var digest = Digest(.sha512)

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }
    public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digest.update($0) } }
    /// The hash of everything so far, 64 bytes. More may follow.
    public func finalize() -> [UInt8] { digest.finalize() }

    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA512()
        hash.update(bytes)
        return hash.finalize()
    }
}

/// A running hash with the semantics of a value: the context is copied before it is changed when
/// another value shares it.
private struct Digest: Sendable {
    private var context: DigestContext

    init(_ algorithm: DigestAlgorithm) {
        context = DigestContext()
        let done = EVP_DigestInit_ex(context.pointer, algorithm.pointer, nil)
        precondition(done == 1, "OpenSSL offers no SHA-2")
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if !isKnownUniquelyReferenced(&context) { context = DigestContext(copying: context) }
        EVP_DigestUpdate(context.pointer, bytes.baseAddress, bytes.count)
    }

    func finalize() -> [UInt8] {
        let ending = DigestContext(copying: context)
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            EVP_DigestFinal_ex(ending.pointer, buffer.baseAddress, &length)
            count = Int(length)
        }
    }
}

/// An algorithm looked up once: OpenSSL 3 otherwise searches its providers at every use.
private struct DigestAlgorithm: @unchecked Sendable {
    // Safe: an EVP_MD is immutable and counted; these live as long as the process.
    let pointer: OpaquePointer

    private init(_ name: String) {
        guard let found = EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("OpenSSL offers no \(name)")
        }
        pointer = found
    }

    static let sha256 = DigestAlgorithm("SHA2-256")
    static let sha512 = DigestAlgorithm("SHA2-512")
}

private final class DigestContext: @unchecked Sendable {
    // Safe: changed only through a `Digest` that holds the one reference to it.
    let pointer: OpaquePointer

    init() {
        guard let made = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        pointer = made
    }

    convenience init(copying other: DigestContext) {
        self.init()
        let done = EVP_MD_CTX_copy_ex(pointer, other.pointer)
        precondition(done == 1, "OpenSSL could not copy a hash")
    }

    deinit { EVP_MD_CTX_free(pointer) }
}
