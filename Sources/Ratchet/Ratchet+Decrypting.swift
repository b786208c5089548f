import Base
import Cryptography

extension Ratchet {
    /// The message in what was received. The ratchet must be stored before it is acknowledged. Throws without any change of
    /// the ratchet: also what was skipped before a damaged message is not kept.
    /// - Throws: `.malformed`, `.unsupportedVersion`, `.headerNotAuthentic`, `.bodyNotAuthentic`,
    ///   `.repeated`, `.tooOld`, `.tooManySkipped`; `.invalidKey` for a new key of small order;
    ///   `.library` when the KEM or OpenSSL refuses; `.kemUnavailable`.
    public mutating func decrypt(_ message: [UInt8], tools: RatchetTools) throws(RatchetError) -> [UInt8] {
        let envelope = try MessageEnvelope(decoding: message)
        var next = self
        let plaintext = try next.open(envelope, tools)
        self = next
        return plaintext
    }

    /// Whether the bytes have the form of one, of whatever keys.
    public static func isMessage(_ message: [UInt8]) -> Bool {
        (try? MessageEnvelope(decoding: message)) != nil
    }

    private mutating func open(_ envelope: MessageEnvelope, _ tools: RatchetTools) throws(RatchetError)
        -> [UInt8]
    {
        if let receiving,
            let header = try envelope.header(with: receiving.chain.headerKey, associatedData: associatedData)
        {
            return try openInPresentChain(envelope, header)
        }
        if let header = try envelope.header(with: nextReceivingHeaderKey, associatedData: associatedData) {
            let offered = try stepReceiving(header, tools)
            // Before this side's own step: most of its work is spared where the body was damaged.
            let plaintext = try openInPresentChain(envelope, header)
            try stepSending(header, offered, tools)
            return plaintext
        }
        for place in retired.indices.reversed() {
            guard
                let header = try envelope.header(
                    with: retired[place].headerKey, associatedData: associatedData)
            else { continue }
            let key = try retired[place].take(header.number)
            return try envelope.body(with: key, associatedData: associatedData)
        }
        throw RatchetError(
            .headerNotAuthentic,
            "A message cannot be decrypted: the two sides of the connection do not have the same keys.")
    }

    private mutating func openInPresentChain(
        _ envelope: MessageEnvelope, _ header: MessageHeader
    ) throws(RatchetError) -> [UInt8] {
        guard var present = receiving else { throw .malformed }
        let key: MessageKey
        if header.number < present.chain.next {
            key = try present.chain.take(header.number)
        } else {
            // The last number is never used: the next one could not be told.
            guard header.number < UInt32.max else { throw .malformed }
            try present.chain.skip(to: header.number, chain: &present.key)
            key = present.chain.advance(&present.key)
        }
        receiving = present
        let plaintext = try envelope.body(with: key, associatedData: associatedData)
        version = max(version, min(header.maxVersion, maxVersion))
        forgetOldest()
        return plaintext
    }

    /// The other side has a new key: its old chain ends, and a new one begins. Answers whether this side had offered it
    /// a key of the KEM.
    private mutating func stepReceiving(
        _ header: MessageHeader, _ tools: RatchetTools
    ) throws(RatchetError) -> Bool {
        if var old = receiving {
            try old.chain.skip(to: header.previousCount, chain: &old.key)
            retired.append(old.chain)
        }
        var secret: WipedBytes?
        if case .accepted(let ciphertext, _) = header.kem {
            guard let own = postQuantum.own else { throw .malformed }
            guard let kem = tools.kem else { throw .kemUnavailable }
            secret = try kem.decapsulate(ciphertext, with: own)
        }
        let hadOffered = postQuantum.own != nil
        postQuantum = PostQuantumState(protectsReceiving: secret != nil)
        let derived = KeyDerivation.root(
            root, agreed: try own.agreed(with: header.key), kemSecret: secret)
        receiving = OpenChain(chain: ReceivingChain(headerKey: nextReceivingHeaderKey), key: derived.chain)
        nextReceivingHeaderKey = derived.nextHeaderKey
        root = derived.root
        return hadOffered
    }

    /// What follows from it: this side has a new key too, and its next chain begins.
    private mutating func stepSending(
        _ header: MessageHeader, _ hadOffered: Bool, _ tools: RatchetTools
    ) throws(RatchetError) {
        let secret = try offerPostQuantum(header.kem, hadOffered, tools)
        own = .generate(random: tools.random)
        let derived = KeyDerivation.root(
            root, agreed: try own.agreed(with: header.key), kemSecret: secret)
        previousCount = sending?.next ?? 0
        sending = SendingChain(headerKey: nextSendingHeaderKey, key: derived.chain)
        nextSendingHeaderKey = derived.nextHeaderKey
        root = derived.root
    }

    /// The KEM's part of it: a secret for the key that came, or a key of this side's own.
    private mutating func offerPostQuantum(
        _ offer: KEMOffer?, _ hadOffered: Bool, _ tools: RatchetTools
    ) throws(RatchetError) -> WipedBytes? {
        let mayUse = wantsPostQuantum && supportsPostQuantum && maxVersion >= RatchetVersion.withKEM
        guard mayUse, let kem = tools.kem else { return nil }
        guard let offer else {
            // Not to be proposed again at once where the other side did not take it up.
            if !hadOffered { postQuantum.own = try kem.generate() }
            return nil
        }
        let encapsulated = try kem.encapsulate(to: offer.key)
        postQuantum.own = try kem.generate()
        postQuantum.ciphertext = encapsulated.ciphertext
        postQuantum.protectsSending = true
        return encapsulated.secret
    }

    /// Keeps to the limits of `SkippedKeys`.
    private mutating func forgetOldest() {
        var complete = retired.count { $0.skipped.isEmpty } - SkippedKeys.maxCompleteChains
        retired.removeAll { chain in
            guard complete > 0, chain.skipped.isEmpty else { return false }
            complete -= 1
            return true
        }
        if retired.count > SkippedKeys.maxChains {
            retired.removeFirst(retired.count - SkippedKeys.maxChains)
        }
        var tooMany =
            retired.reduce(receiving?.chain.skipped.count ?? 0) { $0 + $1.skipped.count }
            - SkippedKeys.maxCount
        for place in retired.indices where tooMany > 0 {
            let count = min(tooMany, retired[place].skipped.count)
            retired[place].forgetOldest(count)
            tooMany -= count
        }
        if tooMany > 0 { receiving?.chain.forgetOldest(tooMany) }
    }
}
