/// The accepted client certificates: a leaf and the authority that signed it, both Ed25519 or Ed448, and no others.
public enum ClientIdentity: Hashable, Sendable {
    /// Any authority. The caller checks it after the handshake.
    case anyone
    /// Only an authority with this SHA-256, 32 bytes.
    case authority([UInt8])

    /// - Parameter chain: DER, leaf first, unverified.
    func admits(_ chain: [[UInt8]]) -> Bool {
        guard chain.count == 2, let authority = Certificate(der: chain[1]) else { return false }
        let fingerprint = authority.fingerprint
        if case .authority(let wanted) = self, wanted != fingerprint { return false }
        return (try? IdentityCheck.verify(chain, fingerprint: fingerprint)) != nil
    }
}
