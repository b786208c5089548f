import Base
import COpenSSL

/// An own authority that signs a certificate for each session. The other side recognises the authority.
public struct CertificateAuthority: Sendable {
    /// Its certificate as DER.
    public let certificate: [UInt8]
    private let parsed: Certificate
    private let key: PrivateKey

    /// SHA-256 of the certificate: 32 bytes.
    public var fingerprint: [UInt8] { parsed.fingerprint }
    /// The seed of its Ed25519 key, 32 bytes. Secret.
    public var seed: [UInt8] { key.seed }

    /// Creates an authority that is valid for a hundred years.
    /// - Throws: `.configuration` if OpenSSL refuses.
    public static func make() throws(NetworkError) -> CertificateAuthority {
        let key = try PrivateKey.generate(.ed25519)
        let certificate = try CertificateRequest(commonName: "ca", key: key, isAuthority: true)
            .signed(by: nil, key: key)
        return CertificateAuthority(parsed: certificate, key: key)
    }

    /// Restores an authority.
    /// - Throws: `.configuration` for an unreadable certificate, or a key that does not match it.
    public init(certificate: [UInt8], seed: [UInt8]) throws(NetworkError) {
        guard let parsed = Certificate(der: certificate) else {
            throw NetworkError(.configuration, "The certificate of a pairing cannot be read.")
        }
        let key = try PrivateKey(ed25519: seed)
        guard X509_check_private_key(parsed.pointer, key.pointer) == 1 else {
            ERR_clear_error()
            throw NetworkError(.configuration, "The key of a pairing does not belong to its certificate.")
        }
        self.init(parsed: parsed, key: key)
    }

    private init(parsed: Certificate, key: PrivateKey) {
        self.parsed = parsed
        self.key = key
        certificate = parsed.der
    }

    /// Creates a leaf signed by this authority: the identity of a server for one session.
    /// - Throws: `.configuration` if OpenSSL refuses.
    public func leaf() throws(NetworkError) -> ServerIdentity {
        let leafKey = try PrivateKey.generate(.ed25519)
        let leaf = try CertificateRequest(commonName: "localhost", key: leafKey, isAuthority: false)
            .signed(by: parsed, key: key)
        return try ServerIdentity(certificates: [leaf, parsed], key: leafKey)
    }
}
