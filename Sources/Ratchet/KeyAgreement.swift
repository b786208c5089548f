import Cryptography

/// The first secrets of an inviter and a joiner: X3DH as SimpleX uses it, without signed prekeys.
struct KeyAgreement {
    /// The joiner's first HKs and the inviter's first NHKr, 32 bytes.
    let headerKey: WipedBytes
    /// The inviter's first NHKs and the joiner's first NHKr, 32 bytes.
    let nextHeaderKey: WipedBytes
    /// The first RK (SK of X3DH), 32 bytes.
    let rootKey: WipedBytes
    /// AD: the raw first keys of joiner and inviter, 112 bytes.
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
        (headerKey, nextHeaderKey, rootKey) = secrets
        associatedData = joiner.rawValue + inviter.rawValue
    }
}

/// The key derivation functions of the ratchet. All use HKDF-SHA-512.
enum KeyDerivation {
    /// Derives three keys of 32 bytes.
    static func three(
        from input: WipedBytes, salt: WipedBytes?, info: String
    ) -> (WipedBytes, WipedBytes, WipedBytes) {
        let derived = HKDF.derive(from: input, salt: salt, info: info, count: 96)
        return (derived[0..<32], derived[32..<64], derived[64..<96])
    }

    /// KDF_RK_HE: derives RK, CK and NHK from the root key, a DH output and a KEM secret.
    static func kdfRK(
        _ rootKey: WipedBytes, agreed: WipedBytes, kemSecret: WipedBytes?
    ) -> (rootKey: WipedBytes, chainKey: WipedBytes, nextHeaderKey: WipedBytes) {
        three(
            from: WipedBytes(joining: [agreed, kemSecret].compactMap(\.self)), salt: rootKey,
            info: "SimpleXRootRatchet")
    }

    /// KDF_CK: derives the next chain key, a message key and a header nonce.
    static func kdfCK(_ chainKey: WipedBytes)
        -> (chainKey: WipedBytes, key: MessageKey, headerNonce: [UInt8])
    {
        let derived = HKDF.derive(from: chainKey, info: "SimpleXChainRatchet", count: 96)
        return (
            derived[0..<32], MessageKey(key: derived[32..<64], nonce: derived[64..<80].bytes),
            derived[80..<96].bytes
        )
    }
}

/// mk: the key and nonce of one message.
struct MessageKey: Sendable {
    /// 32 bytes.
    let key: WipedBytes
    /// 16 bytes.
    let nonce: [UInt8]
}
