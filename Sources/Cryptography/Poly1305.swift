import COpenSSL

/// The one-time authenticator of a `StreamBox`, through OpenSSL: three times as fast here as libsodium's,
/// which knows no wider registers than SSE2. A value.
struct Poly1305: Sendable {
    static let keyLength = 32
    static let tagLength = 16
    private var context: RunningContext

    private static let algorithm = FetchedAlgorithm(EVP_MAC_fetch, "POLY1305")
    private static let kind = RunningContext.Kind(
        copy: { EVP_MAC_CTX_dup($0) }, free: { EVP_MAC_CTX_free($0) })

    /// - Parameter key: 32 bytes, for one message only.
    init(key: UnsafeRawBufferPointer) {
        precondition(key.count == Self.keyLength, "a one-time key has 32 bytes")
        context = RunningContext(EVP_MAC_CTX_new(Self.algorithm.pointer), Self.kind)
        context.change {
            EVP_MAC_init($0, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, nil)
        }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        context.change {
            EVP_MAC_update($0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
    }

    /// The tag of everything so far, 16 bytes. More may follow.
    func finalize() -> [UInt8] {
        context.ending(capacity: Self.tagLength) { EVP_MAC_final($0, $1, &$2, Self.tagLength) }
    }
}
