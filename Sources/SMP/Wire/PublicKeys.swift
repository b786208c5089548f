import Cryptography

/// Which public keys may stand where.
enum PublicKeys {
    static func isAgreement(_ spki: [UInt8]) -> Bool { AgreementKey.isPublicKey(spki) }

    /// A command is signed (Ed25519, Ed448), or authenticated by an agreement with the server (X25519).
    static func isAuthorization(_ spki: [UInt8]) -> Bool {
        AgreementKey.isPublicKey(spki) || VerifyingKey(spki: spki) != nil
    }
}
