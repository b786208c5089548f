import Base
import COpenSSL

/// The certificates of a server and the key of the leaf. Clients recognise the server by them.
public struct ServerIdentity: Sendable {
    /// DER, leaf first; the second is the identity certificate.
    public let certificates: [[UInt8]]
    /// SHA-256 of the identity certificate: the part before `@` in an address.
    public let fingerprint: [UInt8]
    /// The algorithm of the leaf's key.
    public var kind: CertificateKind { key.kind }

    let key: PrivateKey

    /// Fails if the key is not the leaf's, or the chain is inconsistent.
    init(certificates: [Certificate], key: PrivateKey) throws(NetworkError) {
        guard certificates.count >= 2 else {
            throw NetworkError(.configuration, "A server needs a leaf and an identity certificate.")
        }
        guard X509_check_private_key(certificates[0].pointer, key.pointer) == 1 else {
            ERR_clear_error()
            throw NetworkError(.configuration, "The server's key does not belong to its certificate.")
        }
        self.certificates = certificates.map(\.der)
        fingerprint = certificates[1].fingerprint
        self.key = key
        try IdentityCheck.verify(self.certificates, fingerprint: fingerprint)
    }

    /// Signs with the leaf's key: 64 bytes for Ed25519, 114 for Ed448.
    /// - Throws: `.configuration` if OpenSSL refuses.
    public func sign(_ bytes: [UInt8]) throws(NetworkError) -> [UInt8] { try key.sign(bytes) }
}

/// A new identity in the form that is written to disk.
public struct NewServerIdentity: Sendable {
    public let identity: ServerIdentity
    /// PEM text; the two keys are secrets.
    public let authorityCertificate, authorityKey, leafCertificate, leafKey: [UInt8]

    /// Creates an identity certificate and a leaf signed by it, valid for a hundred years: clients trust the
    /// fingerprint, and an expired relay would lose its files.
    /// - Throws: `.configuration` if OpenSSL refuses.
    public static func make(
        _ kind: CertificateKind, hostName: String
    ) throws(NetworkError) -> NewServerIdentity {
        let authorityKey = try PrivateKey.generate(kind)
        let authority = try CertificateRequest(
            commonName: "ChatFS relay identity", key: authorityKey, isAuthority: true
        ).signed(by: nil, key: authorityKey)
        let leafKey = try PrivateKey.generate(kind)
        let leaf = try CertificateRequest(
            commonName: String(hostName.prefix(64)), key: leafKey, isAuthority: false
        ).signed(by: authority, key: authorityKey)
        return NewServerIdentity(
            identity: try ServerIdentity(certificates: [leaf, authority], key: leafKey),
            authorityCertificate: authority.pem(), authorityKey: authorityKey.pem(),
            leafCertificate: leaf.pem(), leafKey: leafKey.pem())
    }
}

extension ServerIdentity {
    /// Reads a written `NewServerIdentity`.
    /// - Throws: `.configuration` for unreadable data or a key that is not the leaf's; `.identity` for certificates
    ///   that every client refuses (`IdentityCheck`).
    public init(
        authorityCertificate: [UInt8], leafCertificate: [UInt8], leafKey: [UInt8]
    ) throws(NetworkError) {
        try self.init(
            certificates: [Certificate(pem: leafCertificate), Certificate(pem: authorityCertificate)],
            key: PrivateKey(pem: leafKey))
    }
}

extension Certificate {
    convenience init(pem: [UInt8]) throws(NetworkError) {
        let parsed = withReadingBIO(pem) { PEM_read_bio_X509($0, nil, nil, nil) }
        guard let parsed else {
            throw NetworkError(.configuration, "The certificate cannot be read: \(takeOpenSSLReason()).")
        }
        self.init(adopting: parsed)
    }

    func pem() -> [UInt8] { collectedFromBIO { PEM_write_bio_X509($0, pointer) } }
}
