import Base
import Cryptography

/// This side's options for a new ratchet.
public struct RatchetSettings: Sendable {
    /// The highest version to use, 2 or 3.
    public var maxVersion: UInt16
    /// Whether to reserve space for the KEM and use it if it is installed and the peer uses it.
    public var postQuantum: Bool

    public init(maxVersion: UInt16 = RatchetVersion.supported.upperBound, postQuantum: Bool = false) {
        precondition(RatchetVersion.supported.contains(maxVersion), "a version that is not known")
        self.maxVersion = maxVersion
        self.postQuantum = postQuantum
    }
}

extension Ratchet {
    /// Returns the joiner's ratchet (RatchetInitAliceHE), which can send at once, and the parameters that the inviter
    /// needs.
    /// - Parameters:
    ///   - own: Keys for this agreement only. A repeated attempt passes the same keys.
    ///   - inviter: The parameters in the inviter's link, or the peer's new ones after a resynchronization.
    /// - Throws: `.invalidKey` for keys of small order; `.library` if the KEM or OpenSSL fails.
    public static func joining(
        _ own: AgreementKeys, inviter: AgreementParameters, settings: RatchetSettings, tools: RatchetTools
    ) throws(RatchetError) -> (ratchet: Ratchet, parameters: AgreementParameters) {
        let version = min(settings.maxVersion, inviter.version)
        var (key, encapsulated): (KEMKey?, Encapsulation?) = (nil, nil)
        if settings.postQuantum, version >= RatchetVersion.withKEM, let kem = tools.kem {
            // Accept the inviter's proposal, or propose a key if there is none.
            if case .proposed(let key) = inviter.kem { encapsulated = try kem.encapsulate(to: key) }
            key = if let given = own.kem { given } else { try kem.generate() }
        }
        let ratchet = try joiner(
            own, inviter, version: version, key, encapsulated, settings: settings, tools: tools)
        let parameters = AgreementParameters(
            version: version, first: own.first.publicKey, second: own.second.publicKey,
            kem: ratchet.postQuantum.offer)
        return (ratchet, parameters)
    }

    private static func joiner(
        _ own: AgreementKeys, _ inviter: AgreementParameters, version: UInt16, _ kemKey: KEMKey?,
        _ encapsulated: Encapsulation?, settings: RatchetSettings, tools: RatchetTools
    ) throws(RatchetError) -> Ratchet {
        let agreement = try KeyAgreement.joining(own, inviter: inviter, kemSecret: encapsulated?.secret)
        let fresh = X448Key.generate(random: tools.random)
        let step = KeyDerivation.kdfRK(
            agreement.rootKey, agreed: try fresh.agreed(with: inviter.second), kemSecret: encapsulated?.secret
        )
        return Ratchet(
            version: version, maxVersion: settings.maxVersion,
            supportsPostQuantum: settings.postQuantum || kemKey != nil,
            wantsPostQuantum: settings.postQuantum,
            associatedData: agreement.associatedData, ratchetKey: fresh, rootKey: step.rootKey,
            sending: SendingChain(headerKey: agreement.headerKey, chainKey: step.chainKey), receiving: nil,
            nextSendingHeaderKey: step.nextHeaderKey, nextReceivingHeaderKey: agreement.nextHeaderKey,
            postQuantum: PostQuantumState(
                protectsSending: encapsulated != nil, own: kemKey, ciphertext: encapsulated?.ciphertext))
    }

    /// Returns the inviter's ratchet (RatchetInitBobHE), which can send after the joiner's first message.
    /// - Parameters:
    ///   - own: The private keys of the parameters in the link.
    ///   - joiner: The parameters in the joiner's first message, or the peer's new ones after a resynchronization.
    /// - Throws: `.invalidKey` for keys of small order; `.library` if the KEM or OpenSSL fails. If the joiner accepted
    ///   a KEM: `.malformed` if `own` proposed none, `.kemUnavailable` if none is installed.
    public static func inviting(
        _ own: AgreementKeys, joiner: AgreementParameters, settings: RatchetSettings, tools: RatchetTools
    ) throws(RatchetError) -> Ratchet {
        var secret: WipedBytes?
        if case .accepted(let ciphertext, _) = joiner.kem {
            guard let key = own.kem else { throw .malformed }
            guard let kem = tools.kem else { throw .kemUnavailable }
            secret = try kem.decapsulate(ciphertext, with: key)
        }
        let agreement = try KeyAgreement.inviting(own, joiner: joiner, kemSecret: secret)
        var postQuantum = PostQuantumState()
        postQuantum.own = own.kem
        return Ratchet(
            version: min(settings.maxVersion, joiner.version), maxVersion: settings.maxVersion,
            supportsPostQuantum: settings.postQuantum || own.kem != nil,
            wantsPostQuantum: settings.postQuantum,
            associatedData: agreement.associatedData, ratchetKey: own.second, rootKey: agreement.rootKey,
            sending: nil,
            receiving: nil, nextSendingHeaderKey: agreement.nextHeaderKey,
            nextReceivingHeaderKey: agreement.headerKey, postQuantum: postQuantum)
    }

    /// Returns a new ratchet after both sides exchanged new `AgreementKeys.parameters`, because their old states no
    /// longer match. The side with the lower hash takes the inviter's role. The KEM starts one step later.
    /// - Throws: The errors of `inviting`.
    public static func agreeingAnew(
        _ own: AgreementKeys, peer: AgreementParameters, settings: RatchetSettings, tools: RatchetTools
    ) throws(RatchetError) -> Ratchet {
        let version = min(settings.maxVersion, peer.version)
        let parameters = own.parameters(version: version)
        guard peer.hash.lexicographicallyPrecedes(parameters.hash) else {
            return try inviting(own, joiner: peer, settings: settings, tools: tools)
        }
        return try joiner(own, peer, version: version, own.kem, nil, settings: settings, tools: tools)
    }
}

extension X448Key {
    func agreed(with key: X448PublicKey) throws(RatchetError) -> WipedBytes {
        do throws(CryptographyError) {
            return try sharedSecret(with: key)
        } catch {
            throw .agreement(error)
        }
    }
}
