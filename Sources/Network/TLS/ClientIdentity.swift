/// The certificates that a server demands of its clients: a leaf and the authority that signed it, both Ed25519 or Ed448,
/// and no others.
public enum ClientIdentity: Hashable, Sendable {
    /// Whoever it is: who comes is known by the authority afterwards.
    case anyone
    /// Only whose authority has this SHA-256, 32 bytes.
    case authority([UInt8])

    /// - Parameter chain: DER, leaf first, whatever it is.
    func admits(_ chain: [[UInt8]]) -> Bool {
        guard chain.count == 2, let authority = Certificate(der: chain[1]) else { return false }
        let fingerprint = authority.fingerprint
        if case .authority(let wanted) = self, wanted != fingerprint { return false }
        return (try? IdentityCheck.verify(chain, fingerprint: fingerprint)) != nil
    }
}
