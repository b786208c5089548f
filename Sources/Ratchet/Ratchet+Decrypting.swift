import Base
import Cryptography

extension Ratchet {
    /// The message in what was received. The ratchet must be stored before it is acknowledged. Throws without any change of
    /// the ratchet: also what was skipped before a damaged message is not kept.
    public mutating func decrypt(_ message: [UInt8], tools: RatchetTools) throws(RatchetError) -> [UInt8] {
        let envelope = try MessageEnvelope(decoding: message)
        var next = self
        let plaintext = try next.open(envelope, tools)
        self = next
        return plaintext
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
            try step(header, tools)
            return try openInPresentChain(envelope, header)
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

    /// The other side has a new key: its old chain ends, and new ones begin in both directions.
    private mutating func step(_ header: MessageHeader, _ tools: RatchetTools) throws(RatchetError) {
        if var old = receiving {
            try old.chain.skip(to: header.previousCount, chain: &old.key)
            retired.append(old.chain)
        }
        let secrets = try stepPostQuantum(header.kem, tools)
        let first = KeyDerivation.root(
            root, agreed: try own.agreed(with: header.key), kemSecret: secrets.receiving)
        receiving = OpenChain(chain: ReceivingChain(headerKey: nextReceivingHeaderKey), key: first.chain)
        nextReceivingHeaderKey = first.nextHeaderKey
        own = .generate(random: tools.random)
        let second = KeyDerivation.root(
            first.root, agreed: try own.agreed(with: header.key), kemSecret: secrets.sending)
        previousCount = sending?.next ?? 0
        sending = SendingChain(headerKey: nextSendingHeaderKey, key: second.chain)
        nextSendingHeaderKey = second.nextHeaderKey
        root = second.root
    }

    /// The KEM's part of a step: the secret in what was accepted, and one for the key that came with it.
    private mutating func stepPostQuantum(
        _ offer: KEMOffer?, _ tools: RatchetTools
    ) throws(RatchetError) -> (receiving: WipedBytes?, sending: WipedBytes?) {
        var secret: WipedBytes?
        if case .accepted(let ciphertext, _) = offer {
            guard let own = postQuantum.own else { throw .malformed }
            guard let kem = tools.kem else { throw .kemUnavailable }
            secret = try kem.decapsulate(ciphertext, with: own)
        }
        let mayUse = wantsPostQuantum && supportsPostQuantum && maxVersion >= RatchetVersion.withKEM
        let hadProposed = postQuantum.own != nil
        postQuantum = PostQuantumState(protectsReceiving: secret != nil)
        guard mayUse, let kem = tools.kem else { return (secret, nil) }
        guard let offer else {
            // Not to be proposed again at once where the other side did not take it up.
            if !hadProposed { postQuantum.own = try kem.generate() }
            return (secret, nil)
        }
        let encapsulated = try kem.encapsulate(to: offer.key)
        postQuantum.own = try kem.generate()
        postQuantum.ciphertext = encapsulated.ciphertext
        postQuantum.protectsSending = true
        return (secret, encapsulated.secret)
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
