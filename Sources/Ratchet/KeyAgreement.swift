import Cryptography

/// The first secrets of two people (X3DH as SimpleX does it): of one who invited and gave keys, and of one who joined
/// with keys of their own.
struct KeyAgreement {
    /// 32 bytes each. The joiner sends with the first header key.
    let headerKey: WipedBytes
    let nextHeaderKey: WipedBytes
    let root: WipedBytes
    /// The raw first keys of joiner and inviter, 112 bytes, which every message of the connection authenticates.
    let associatedData: [UInt8]

    static func joining(
        _ own: AgreementKeys, inviter: AgreementParameters, kemSecret: WipedBytes?
    ) throws(RatchetError) -> KeyAgreement {
        do throws(CryptographyError) {
            return KeyAgreement(
                agreed: [
                    try own.second.sharedSecret(with: inviter.first),
                    try own.first.sharedSecret(with: inviter.second),
                    try own.second.sharedSecret(with: inviter.second),
                ], kemSecret, joiner: own.first.publicKey, inviter: inviter.first)
        } catch {
            throw .agreement(error)
        }
    }

    static func inviting(
        _ own: AgreementKeys, joiner: AgreementParameters, kemSecret: WipedBytes?
    ) throws(RatchetError) -> KeyAgreement {
        do throws(CryptographyError) {
            return KeyAgreement(
                agreed: [
                    try own.first.sharedSecret(with: joiner.second),
                    try own.second.sharedSecret(with: joiner.first),
                    try own.second.sharedSecret(with: joiner.second),
                ], kemSecret, joiner: joiner.first, inviter: own.first.publicKey)
        } catch {
            throw .agreement(error)
        }
    }

    private init(
        agreed: [WipedBytes], _ kemSecret: WipedBytes?, joiner: X448PublicKey, inviter: X448PublicKey
    ) {
        let secrets = KeyDerivation.three(
            from: WipedBytes(joining: agreed + [kemSecret].compactMap(\.self)),
            salt: WipedBytes([UInt8](repeating: 0, count: 64)), info: "SimpleXX3DH")
        (headerKey, nextHeaderKey, root) = secrets
        associatedData = joiner.rawValue + inviter.rawValue
    }
}

/// The steps by which keys come from keys.
enum KeyDerivation {
    static func three(
        from input: WipedBytes, salt: WipedBytes?, info: String
    ) -> (WipedBytes, WipedBytes, WipedBytes) {
        let derived = HKDF.derive(from: input, salt: salt, info: info, count: 96)
        return (derived[0..<32], derived[32..<64], derived[64..<96])
    }

    /// A step of the root with a new agreement.
    static func root(
        _ root: WipedBytes, agreed: WipedBytes, kemSecret: WipedBytes?
    ) -> (root: WipedBytes, chain: WipedBytes, nextHeaderKey: WipedBytes) {
        three(
            from: WipedBytes(joining: [agreed, kemSecret].compactMap(\.self)), salt: root,
            info: "SimpleXRootRatchet")
    }

    /// A step of a chain: the next one, and what one message is encrypted with.
    static func chain(_ chain: WipedBytes) -> (chain: WipedBytes, key: MessageKey, headerNonce: [UInt8]) {
        let derived = HKDF.derive(from: chain, info: "SimpleXChainRatchet", count: 96)
        return (
            derived[0..<32], MessageKey(key: derived[32..<64], nonce: derived[64..<80].bytes),
            derived[80..<96].bytes
        )
    }
}

/// What one message is encrypted with.
struct MessageKey: Sendable {
    /// 32 bytes.
    let key: WipedBytes
    /// 16 bytes.
    let nonce: [UInt8]
}
