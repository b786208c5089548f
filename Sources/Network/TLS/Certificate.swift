import Base
import COpenSSL

/// An X.509 certificate. Immutable after it was read or signed.
final class Certificate: @unchecked Sendable {
    // Safe: OpenSSL's X509 is only read after init, and its reference count is atomic.
    let pointer: OpaquePointer

    /// Takes over one reference.
    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    /// Returns nil if the bytes are not exactly one certificate.
    init?(der: [UInt8]) {
        var end: UnsafePointer<UInt8>?
        let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let base = buffer.baseAddress else { return nil }
            end = base
            guard let parsed = d2i_X509(nil, &end, buffer.count) else { return nil }
            if end == base + buffer.count { return parsed }
            X509_free(parsed)
            return nil
        }
        ERR_clear_error()
        guard let parsed else { return nil }
        pointer = parsed
    }

    deinit { X509_free(pointer) }

    var der: [UInt8] { encoded { i2d_X509(self.pointer, $0) } }

    /// SHA-256 of the DER.
    var fingerprint: [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        X509_digest(pointer, EVP_sha256(), &digest, &length)
        return digest
    }

    /// The algorithm of its public key, or nil if it is neither Ed25519 nor Ed448.
    var kind: CertificateKind? {
        guard let key = X509_get0_pubkey(pointer) else { return nil }
        return CertificateKind(openSSL: EVP_PKEY_get_id(key))
    }

    /// DER of the SubjectPublicKeyInfo.
    var publicKey: [UInt8] { encoded { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(self.pointer), $0) } }

    /// Returns whether the key of `issuer` signed this certificate. Ignores names and dates.
    func isSigned(by issuer: Certificate) -> Bool {
        guard let key = X509_get0_pubkey(issuer.pointer) else { return false }
        let result = X509_verify(pointer, key)
        ERR_clear_error()
        return result == 1
    }
}

/// The two signature algorithms of the SimpleX network.
public enum CertificateKind: String, Sendable, CaseIterable {
    case ed25519
    case ed448

    init?(openSSL identifier: Int32) {
        switch identifier {
        case EVP_PKEY_ED25519: self = .ed25519
        case EVP_PKEY_ED448: self = .ed448
        default: return nil
        }
    }

    var openSSL: Int32 { self == .ed25519 ? EVP_PKEY_ED25519 : EVP_PKEY_ED448 }

    /// The AlgorithmIdentifier in DER: the object identifier 1.3.101.112 or 1.3.101.113 (RFC 8410).
    public var algorithmIdentifier: [UInt8] {
        [0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, self == .ed25519 ? 0x70 : 0x71]
    }
}

/// Calls an `i2d_` function twice: for the length, then for the bytes.
func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
    let length = encode(nil)
    guard length > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
        var end = buffer.baseAddress
        count = Int(encode(&end))
    }
}
