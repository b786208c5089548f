import Cryptography

/// The permitted kinds of public keys by place.
enum PublicKeys {
    static func isAgreement(_ spki: [UInt8]) -> Bool { AgreementKey.isPublicKey(spki) }

    /// Keys that authorise commands: by signature (Ed25519, Ed448), or by an agreement with the server (X25519).
    static func isAuthorization(_ spki: [UInt8]) -> Bool {
        AgreementKey.isPublicKey(spki) || VerifyingKey(spki: spki) != nil
    }
}
