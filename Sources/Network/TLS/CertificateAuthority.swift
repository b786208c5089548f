import Base
import COpenSSL

/// An authority of one's own, which signs a certificate for each session: what the other side recognises.
public struct CertificateAuthority: Sendable {
    /// DER of its certificate.
    public let certificate: [UInt8]
    private let parsed: Certificate
    private let key: PrivateKey

    /// SHA-256 of the certificate: 32 bytes.
    public var fingerprint: [UInt8] { parsed.fingerprint }
    /// What its Ed25519 key is made from, 32 bytes. A secret.
    public var seed: [UInt8] { key.seed }

    /// A new one, valid for a hundred years.
    /// - Throws: `.configuration` when OpenSSL refuses.
    public static func make() throws(NetworkError) -> CertificateAuthority {
        let key = try PrivateKey.generate(.ed25519)
        let certificate = try CertificateRequest(commonName: "ca", key: key, isAuthority: true)
            .signed(by: nil, key: key)
        return CertificateAuthority(parsed: certificate, key: key)
    }

    /// One that was made before.
    /// - Throws: `.configuration` for a certificate that cannot be read, or another key than that of the certificate.
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

    /// A fresh leaf with this authority behind it: the identity of a server for one session.
    /// - Throws: `.configuration` when OpenSSL refuses.
    public func leaf() throws(NetworkError) -> ServerIdentity {
        let leafKey = try PrivateKey.generate(.ed25519)
        let leaf = try CertificateRequest(commonName: "localhost", key: leafKey, isAuthority: false)
            .signed(by: parsed, key: key)
        return try ServerIdentity(certificates: [leaf, parsed], key: leafKey)
    }
}
