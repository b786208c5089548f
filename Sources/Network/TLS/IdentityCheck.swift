/// Compares the certificates of a TLS connection with the fingerprint of an address.
///
/// A chain has two to four certificates, leaf first, and the identity certificate second; its SHA-256 is the
/// fingerprint (XFTP protocol, "Transport protocol"; SMP protocol, "Router certificate"). The identity certificate must
/// have signed the leaf, whose key TLS has proved. Host names and dates have no meaning here.
public enum IdentityCheck {
    /// - Parameters:
    ///   - chain: DER, leaf first.
    ///   - fingerprint: 32 bytes.
    /// - Throws: `.identity` if they do not match.
    public static func verify(_ chain: [[UInt8]], fingerprint: [UInt8]) throws(NetworkError) {
        guard (2...4).contains(chain.count) else {
            throw refusal("shows \(chain.count) certificates where two to four are expected")
        }
        var certificates: [Certificate] = []
        for der in chain {
            guard let certificate = Certificate(der: der) else {
                throw refusal("shows a certificate that cannot be read")
            }
            guard certificate.kind != nil else {
                throw refusal("uses a certificate that is neither Ed25519 nor Ed448")
            }
            certificates.append(certificate)
        }
        guard certificates[1].fingerprint == fingerprint else {
            throw refusal(
                "has another identity than its address says: another server answers there, "
                    + "or the address is old")
        }
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()) {
            guard certificate.isSigned(by: issuer) else {
                throw refusal("shows certificates that do not vouch for each other")
            }
        }
    }

    private static func refusal(_ reason: String) -> NetworkError {
        NetworkError(.identity, "The server \(reason).")
    }
}
