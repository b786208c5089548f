import Base
import Cryptography

/// What this side wants of a new ratchet.
public struct RatchetSettings: Sendable {
    /// The highest version to use: 2 or 3.
    public var maxVersion: UInt16
    /// Whether to reserve space for the KEM, and to use it where it is at hand and the other side does too.
    public var postQuantum: Bool

    public init(maxVersion: UInt16 = RatchetVersion.supported.upperBound, postQuantum: Bool = false) {
        precondition(RatchetVersion.supported.contains(maxVersion), "a version that is not known")
        self.maxVersion = maxVersion
        self.postQuantum = postQuantum
    }
}

extension Ratchet {
    /// The ratchet of who joins, which can send at once, and the parameters that the inviter needs for its own.
    /// - Parameters:
    ///   - own: made for this agreement alone; the same again when joining is repeated.
    ///   - inviter: from its link, or its new keys when two sides agree anew.
    /// - Throws: `.invalidKey` for keys of small order; `.library` when the KEM or OpenSSL refuses.
    public static func joining(
        _ own: AgreementKeys, inviter: AgreementParameters, settings: RatchetSettings, tools: RatchetTools
    ) throws(RatchetError) -> (ratchet: Ratchet, parameters: AgreementParameters) {
        let version = min(settings.maxVersion, inviter.version)
        var (key, encapsulated): (KEMKey?, Encapsulation?) = (nil, nil)
        if settings.postQuantum, version >= RatchetVersion.withKEM, let kem = tools.kem {
            // Accepts what was proposed; proposes where nothing was.
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
        let step = KeyDerivation.root(
            agreement.root, agreed: try fresh.agreed(with: inviter.second), kemSecret: encapsulated?.secret)
        return Ratchet(
            version: version, maxVersion: settings.maxVersion,
            supportsPostQuantum: settings.postQuantum || kemKey != nil,
            wantsPostQuantum: settings.postQuantum,
            associatedData: agreement.associatedData, own: fresh, root: step.root,
            sending: SendingChain(headerKey: agreement.headerKey, key: step.chain), receiving: nil,
            nextSendingHeaderKey: step.nextHeaderKey, nextReceivingHeaderKey: agreement.nextHeaderKey,
            postQuantum: PostQuantumState(
                protectsSending: encapsulated != nil, own: kemKey, ciphertext: encapsulated?.ciphertext))
    }

    /// The ratchet of who invited, which can send after the first message of the joiner.
    /// - Parameters:
    ///   - own: the private halves of what the link has.
    ///   - joiner: from its first message, or its new keys when two sides agree anew.
    /// - Throws: `.invalidKey` for keys of small order; `.library` when the KEM or OpenSSL refuses; where the joiner
    ///   accepted a KEM, `.malformed` if `own` has proposed none, `.kemUnavailable`.
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
            associatedData: agreement.associatedData, own: own.second, root: agreement.root, sending: nil,
            receiving: nil, nextSendingHeaderKey: agreement.nextHeaderKey,
            nextReceivingHeaderKey: agreement.headerKey, postQuantum: postQuantum)
    }

    /// The ratchet after both sides have given new keys, each `AgreementKeys.parameters`, because their old ones do not
    /// belong together any more: who has the lower hash has the part of the inviter. The KEM begins a step later.
    /// - Throws: as `inviting`.
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
