import Base
import Cryptography

extension Ratchet {
    /// Returns the plaintext of a received message (RatchetDecryptHE). The caller stores the ratchet before it
    /// acknowledges the message. An error leaves the ratchet unchanged: keys skipped before a damaged message are not
    /// kept either.
    /// - Throws: `.malformed`, `.unsupportedVersion`, `.headerNotAuthentic`, `.bodyNotAuthentic`,
    ///   `.repeated`, `.tooOld`, `.tooManySkipped`; `.invalidKey` for a ratchet key of small order;
    ///   `.library` if the KEM or OpenSSL fails; `.kemUnavailable`.
    public mutating func decrypt(_ message: [UInt8], tools: RatchetTools) throws(RatchetError) -> [UInt8] {
        let envelope = try MessageEnvelope(decoding: message)
        var next = self
        let plaintext = try next.open(envelope, tools)
        self = next
        return plaintext
    }

    /// Returns whether the bytes have the form of a message. Checks no keys.
    public static func isMessage(_ message: [UInt8]) -> Bool {
        (try? MessageEnvelope(decoding: message)) != nil
    }

    private mutating func open(_ envelope: MessageEnvelope, _ tools: RatchetTools) throws(RatchetError)
        -> [UInt8]
    {
        // DecryptHeader with state.HKr
        if let receiving,
            let header = try envelope.header(with: receiving.chain.headerKey, associatedData: associatedData)
        {
            return try decryptInCurrentChain(envelope, header)
        }
        // DecryptHeader with state.NHKr: dh_ratchet = True
        if let header = try envelope.header(with: nextReceivingHeaderKey, associatedData: associatedData) {
            let offered = try dhRatchetReceiving(header, tools)
            // Decrypt before the sending step, so that a damaged body costs no new key pair.
            let plaintext = try decryptInCurrentChain(envelope, header)
            try dhRatchetSending(header, offered, tools)
            return plaintext
        }
        // TrySkippedMessageKeysHE
        for place in previousChains.indices.reversed() {
            guard
                let header = try envelope.header(
                    with: previousChains[place].headerKey, associatedData: associatedData)
            else { continue }
            let key = try previousChains[place].takeSkippedKey(header.number)
            return try envelope.body(with: key, associatedData: associatedData)
        }
        throw RatchetError(
            .headerNotAuthentic,
            "Cannot decrypt a message: the keys of the two sides differ.")
    }

    private mutating func decryptInCurrentChain(
        _ envelope: MessageEnvelope, _ header: MessageHeader
    ) throws(RatchetError) -> [UInt8] {
        guard var current = receiving else { throw .malformed }
        let key: MessageKey
        if header.number < current.chain.messageNumber {
            key = try current.chain.takeSkippedKey(header.number)
        } else {
            // Number UInt32.max is invalid: state.Nr could not be incremented.
            guard header.number < UInt32.max else { throw .malformed }
            // SkipMessageKeysHE(state, header.n)
            try current.chain.skipMessageKeys(until: header.number, chainKey: &current.chainKey)
            // state.CKr, mk = KDF_CK(state.CKr); state.Nr += 1
            key = current.chain.nextMessageKey(&current.chainKey)
        }
        receiving = current
        let plaintext = try envelope.body(with: key, associatedData: associatedData)
        version = max(version, min(header.maxVersion, maxVersion))
        deleteOldestKeys()
        return plaintext
    }

    /// Ends the peer's previous chain and starts the chain of its new ratchet key: the first half of DHRatchetHE.
    /// Returns whether this side had offered a KEM key.
    private mutating func dhRatchetReceiving(
        _ header: MessageHeader, _ tools: RatchetTools
    ) throws(RatchetError) -> Bool {
        if var old = receiving {
            // SkipMessageKeysHE(state, header.pn)
            try old.chain.skipMessageKeys(until: header.previousChainLength, chainKey: &old.chainKey)
            previousChains.append(old.chain)
        }
        var secret: WipedBytes?
        if case .accepted(let ciphertext, _) = header.kem {
            guard let own = postQuantum.own else { throw .malformed }
            guard let kem = tools.kem else { throw .kemUnavailable }
            secret = try kem.decapsulate(ciphertext, with: own)
        }
        let hadOffered = postQuantum.own != nil
        postQuantum = PostQuantumState(protectsReceiving: secret != nil)
        // state.RK, state.CKr, state.NHKr = KDF_RK_HE(state.RK, DH(state.DHs, state.DHr))
        let derived = KeyDerivation.kdfRK(
            rootKey, agreed: try ratchetKey.agreed(with: header.key), kemSecret: secret)
        // state.HKr = state.NHKr; state.Nr = 0
        receiving = CurrentReceivingChain(
            chain: ReceivingChain(headerKey: nextReceivingHeaderKey), chainKey: derived.chainKey)
        nextReceivingHeaderKey = derived.nextHeaderKey
        rootKey = derived.rootKey
        return hadOffered
    }

    /// Generates a ratchet key and starts the next sending chain: the second half of DHRatchetHE.
    private mutating func dhRatchetSending(
        _ header: MessageHeader, _ hadOffered: Bool, _ tools: RatchetTools
    ) throws(RatchetError) {
        let secret = try offerPostQuantum(header.kem, hadOffered, tools)
        // state.DHs = GENERATE_DH()
        ratchetKey = .generate(random: tools.random)
        // state.RK, state.CKs, state.NHKs = KDF_RK_HE(state.RK, DH(state.DHs, state.DHr))
        let derived = KeyDerivation.kdfRK(
            rootKey, agreed: try ratchetKey.agreed(with: header.key), kemSecret: secret)
        // state.PN = state.Ns; state.Ns = 0; state.HKs = state.NHKs
        previousChainLength = sending?.messageNumber ?? 0
        sending = SendingChain(headerKey: nextSendingHeaderKey, chainKey: derived.chainKey)
        nextSendingHeaderKey = derived.nextHeaderKey
        rootKey = derived.rootKey
    }

    /// Returns a KEM secret encapsulated to the peer's key. Proposes a key, and returns nil, if the peer offered none.
    private mutating func offerPostQuantum(
        _ offer: KEMOffer?, _ hadOffered: Bool, _ tools: RatchetTools
    ) throws(RatchetError) -> WipedBytes? {
        let mayUse = wantsPostQuantum && supportsPostQuantum && maxVersion >= RatchetVersion.withKEM
        guard mayUse, let kem = tools.kem else { return nil }
        guard let offer else {
            // Skip one step after a proposal that the peer ignored.
            if !hadOffered { postQuantum.own = try kem.generate() }
            return nil
        }
        let encapsulated = try kem.encapsulate(to: offer.key)
        postQuantum.own = try kem.generate()
        postQuantum.ciphertext = encapsulated.ciphertext
        postQuantum.protectsSending = true
        return encapsulated.secret
    }

    /// Deletes the oldest chains and keys beyond the limits of `SkippedKeys`.
    private mutating func deleteOldestKeys() {
        var complete = previousChains.count { $0.skipped.isEmpty } - SkippedKeys.maxCompleteChains
        previousChains.removeAll { chain in
            guard complete > 0, chain.skipped.isEmpty else { return false }
            complete -= 1
            return true
        }
        if previousChains.count > SkippedKeys.maxChains {
            previousChains.removeFirst(previousChains.count - SkippedKeys.maxChains)
        }
        var tooMany =
            previousChains.reduce(receiving?.chain.skipped.count ?? 0) { $0 + $1.skipped.count }
            - SkippedKeys.maxCount
        // TrySkippedMessageKeysHE
        for place in previousChains.indices where tooMany > 0 {
            let count = min(tooMany, previousChains[place].skipped.count)
            previousChains[place].deleteOldestKeys(count)
            tooMany -= count
        }
        if tooMany > 0 { receiving?.chain.deleteOldestKeys(tooMany) }
    }
}
