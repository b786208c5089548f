import COpenSSL

/// SHA-256 from OpenSSL, four times as fast as libsodium's. Hashes chunks and certificates.
public struct SHA256: Sendable {
    public static let length = 32
    private var digest = Digest(.sha256)

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }
    public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digest.update($0) } }
    /// Returns the hash of all bytes so far, 32 bytes. More may follow.
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

/// SHA-512 from OpenSSL. Hashes whole encrypted files.
public struct SHA512: Sendable {
    public static let length = 64
    private var digest = Digest(.sha512)

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }
    public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digest.update($0) } }
    /// Returns the hash of all bytes so far, 64 bytes. More may follow.
    public func finalize() -> [UInt8] { digest.finalize() }

    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA512()
        hash.update(bytes)
        return hash.finalize()
    }
}

/// SHA-3 from OpenSSL. Derives queue ids and link keys.
public enum SHA3 {
    /// Returns 32 bytes.
    public static func hash256(_ bytes: [UInt8]) -> [UInt8] { hash(bytes, .sha3Of256) }
    /// Returns 48 bytes.
    public static func hash384(_ bytes: [UInt8]) -> [UInt8] { hash(bytes, .sha3Of384) }

    private static func hash(_ bytes: [UInt8], _ algorithm: FetchedAlgorithm) -> [UInt8] {
        var digest = Digest(algorithm)
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finalize()
    }
}

/// MD5 from OpenSSL, only for the names of desktop thumbnails. Not secure.
public enum MD5 {
    public static let length = 16

    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = Digest(.md5)
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finalize()
    }
}

/// A hash in progress. A value.
private struct Digest: Sendable {
    private var context: RunningContext

    private static let kind = RunningContext.Kind(
        copy: { other in
            guard let made = EVP_MD_CTX_new() else { return nil }
            return EVP_MD_CTX_copy_ex(made, other) == 1 ? made : nil
        }, free: { EVP_MD_CTX_free($0) })

    init(_ algorithm: FetchedAlgorithm) {
        context = RunningContext(EVP_MD_CTX_new(), Self.kind)
        context.change { EVP_DigestInit_ex($0, algorithm.pointer, nil) }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        context.change { EVP_DigestUpdate($0, bytes.baseAddress, bytes.count) }
    }

    func finalize() -> [UInt8] {
        context.ending(capacity: Int(EVP_MAX_MD_SIZE)) { context, buffer, count in
            var length: UInt32 = 0
            let done = EVP_DigestFinal_ex(context, buffer, &length)
            count = Int(length)
            return done
        }
    }
}

extension FetchedAlgorithm {
    fileprivate static let sha256 = FetchedAlgorithm(EVP_MD_fetch, "SHA2-256")
    fileprivate static let sha512 = FetchedAlgorithm(EVP_MD_fetch, "SHA2-512")
    fileprivate static let sha3Of256 = FetchedAlgorithm(EVP_MD_fetch, "SHA3-256")
    fileprivate static let sha3Of384 = FetchedAlgorithm(EVP_MD_fetch, "SHA3-384")
    fileprivate static let md5 = FetchedAlgorithm(EVP_MD_fetch, "MD5")
}
