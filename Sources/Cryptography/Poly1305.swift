import COpenSSL

/// The one-time authenticator of a `StreamBox`, through OpenSSL: three times as fast here as libsodium's,
/// which knows no wider registers than SSE2. A value: the context is copied before it is changed when
/// another value shares it.
struct Poly1305: Sendable {
    static let keyLength = 32
    static let tagLength = 16
    private var context: Poly1305Context

    /// - Parameter key: 32 bytes, for one message only.
    init(key: UnsafeRawBufferPointer) {
        precondition(key.count == Self.keyLength, "a one-time key has 32 bytes")
        context = Poly1305Context()
        let done = EVP_MAC_init(
            context.pointer, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, nil)
        precondition(done == 1, "OpenSSL refused a one-time key")
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if !isKnownUniquelyReferenced(&context) { context = Poly1305Context(copying: context) }
        let done = EVP_MAC_update(
            context.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        precondition(done == 1, "OpenSSL could not authenticate")
    }

    /// The tag of everything so far, 16 bytes. More may follow.
    func finalize() -> [UInt8] {
        let ending = Poly1305Context(copying: context)
        return [UInt8](unsafeUninitializedCapacity: Self.tagLength) { buffer, count in
            let done = EVP_MAC_final(ending.pointer, buffer.baseAddress, &count, Self.tagLength)
            precondition(done == 1 && count == Self.tagLength, "OpenSSL could not make a tag")
        }
    }
}

private final class Poly1305Context: @unchecked Sendable {
    // Safe: changed only through a `Poly1305` that holds the one reference to it; the algorithm is
    // immutable and lives as long as the process.
    let pointer: OpaquePointer

    private static let algorithm: SendablePointer = {
        guard let found = EVP_MAC_fetch(nil, "POLY1305", nil) else {
            preconditionFailure("OpenSSL offers no Poly1305")
        }
        return SendablePointer(pointer: found)
    }()

    private struct SendablePointer: @unchecked Sendable {
        // Safe: an EVP_MAC is immutable and counted.
        let pointer: OpaquePointer
    }

    init() {
        guard let made = EVP_MAC_CTX_new(Self.algorithm.pointer) else { preconditionFailure("out of memory") }
        pointer = made
    }

    init(copying other: Poly1305Context) {
        guard let made = EVP_MAC_CTX_dup(other.pointer) else { preconditionFailure("out of memory") }
        pointer = made
    }

    deinit { EVP_MAC_CTX_free(pointer) }
}
