import Base
import Cryptography
import Ratchet
import SMP

/// Sending: encryption, and the servers' replies to sent messages.
extension ConnectionMachine {
    /// Whether a message of this kind can be sent now.
    func isReady(_ kind: Outgoing.Kind, isUrgent: Bool) -> Bool {
        guard let queue = state.present, !queue.isGone else { return false }
        switch kind {
        case .request: return state.phase == .requesting && state.receiving.first?.status == .active
        case .confirmation: return state.phase == .joining || state.phase == .confirming
        case .keys: return state.phase == .connected || state.phase == .deleting
        case .message:
            guard state.phase == .connected || state.phase == .deleting, state.ratchet?.canSend == true else {
                return false
            }
            // The message that proves new keys is urgent; it goes out before the peer has proven them.
            return state.synchronisation.allowsSending && (isUrgent || state.hasRequiredSecurity)
                || isUrgent && state.synchronisation.phase == .agreed
        }
    }

    /// Encrypts a message. Call it once per message, and store the state in the same transaction as the
    /// result.
    mutating func prepare(_ kind: Outgoing.Kind, content: [UInt8]) throws -> PreparedEnvelope {
        let nonce = tools.random.bytes(24)
        switch kind {
        case .request:
            guard let link = state.request?.link else { throw AgentError.damagedState }
            let envelope = AgentEnvelope(
                version: state.agentVersion, .invitation(link: link, information: content))
            return PreparedEnvelope(number: 0, hash: [], envelope: envelope.encoded, nonce: nonce)
        case .confirmation: return try prepareConfirmation(content, nonce: nonce)
        case .keys:
            _ = state.sequence.send([UInt8(ascii: "R")])
            var bytes: [UInt8] = []
            bytes.append(bigEndian: SMPVersion.agents.upperBound)
            bytes += [UInt8(ascii: "R")] + content + [UInt8(ascii: "R")]
            return PreparedEnvelope(number: state.sequence.lastSent, hash: [], envelope: bytes, nonce: nonce)
        case .message:
            let message = AgentMessage.numbered(
                state.sequence.next, previousHash: state.sequence.lastSentHash,
                MessageContent(decoding: content)
            ).encoded
            let sealed = try seal(message, size: MessageSize.message)
            let envelope = AgentEnvelope(version: SMPVersion.agents.upperBound, .message(sealed))
            return prepared(message, envelope, nonce)
        }
    }

    private mutating func prepareConfirmation(_ information: [UInt8], nonce: [UInt8]) throws
        -> PreparedEnvelope
    {
        let message: [UInt8]
        if state.joinersParameters != nil {
            guard let address = state.receiving.first?.address, let inviters = state.present else {
                throw AgentError.damagedState
            }
            // The version agreed on for one direction holds for the other.
            let reply = ReplyQueue(version: inviters.version, address: address)
            message = AgentMessage.joined(queues: [reply], information: information).encoded
        } else {
            message = AgentMessage.confirmed(information: information).encoded
        }
        let sealed = try seal(message, size: MessageSize.confirmation)
        let envelope = AgentEnvelope(
            version: state.agentVersion,
            .confirmation(parameters: state.joinersParameters, message: sealed))
        return prepared(message, envelope, nonce)
    }

    private mutating func seal(_ message: [UInt8], size: (Ratchet) -> Int) throws -> [UInt8] {
        guard var ratchet = state.ratchet else { throw AgentError.damagedState }
        let sealed = try ratchet.encrypt(message, paddedTo: size(ratchet))
        state.ratchet = ratchet
        return sealed
    }

    private mutating func prepared(_ message: [UInt8], _ envelope: AgentEnvelope, _ nonce: [UInt8])
        -> PreparedEnvelope
    {
        let hash = state.sequence.send(message)
        return PreparedEnvelope(
            number: state.sequence.lastSent, hash: hash, envelope: envelope.encoded, nonce: nonce)
    }

    /// Continues after `SKEY`: the server has this side's key for the peer's queue.
    mutating func secured() {
        for place in state.sending.indices where state.sending[place].use == .present {
            state.sending[place].isSecured = true
        }
    }

    /// Continues after `SEND`: the server has accepted the message.
    mutating func sent(_ kind: Outgoing.Kind) {
        switch (kind, state.phase) {
        case (.request, _): state.sending.removeAll { $0.use == .request }
        case (.confirmation, .joining): state.joinersParameters = nil
        case (.confirmation, .confirming):
            state.enter(.connected)
            emit(.tell(.connected(information: [])))
        default: break
        }
    }

    /// Restricts sending to the keys with this security code; nil lifts the restriction.
    mutating func requireSecurity(_ code: String?) {
        state.requiredSecurity = code.map { code in
            guard let hash = state.ratchet?.securityHash, SecurityCode.text(hash) == code else { return [] }
            return hash
        }
        emit(.tryAgain)
    }

    /// Handles a server's `ERR AUTH` for the peer's queue.
    ///
    /// A handshake or a deletion ends at once. An established connection keeps retrying until the refusals
    /// are final (see `Refusals`).
    /// - Returns: true if the queue is given up.
    mutating func refused(_ location: QueueLocation, now: ElapsedTime, _ limit: Refusals.Limit) -> Bool {
        guard let place = state.sending.firstIndex(where: { location.isPlace(of: $0.address) }) else {
            return true
        }
        if state.phase == .connected {
            changing { $0.state.sending[place].refusals.add(at: now) }
            guard state.sending[place].refusals.areFinal(at: now, limit) else { return false }
        }
        queueGone(location, reason: .contactGone)
        return true
    }

    /// Clears refusals: a server has accepted a message for the peer's queue, or the peer has written.
    mutating func clearRefusals() {
        let none = Refusals()
        guard state.sending.contains(where: { $0.isGone || $0.refusals != none }) else { return }
        changing { machine in
            for place in machine.state.sending.indices {
                machine.state.sending[place].isGone = false
                machine.state.sending[place].refusals = none
            }
        }
        emit(.tryAgain)
    }

    /// Marks the peer's queue as gone.
    /// - Parameter location: the queue that was addressed. It may have been replaced since.
    mutating func queueGone(_ location: QueueLocation, reason: FailureReason) {
        guard let place = state.sending.firstIndex(where: { location.isPlace(of: $0.address) }) else {
            return
        }
        let isFirst = state.phase == .joining || state.phase == .requesting
        changing { machine in
            machine.state.sending[place].isGone = true
            machine.fail(isFirst && reason == .contactGone ? .linkGone : reason)
        }
        // Emit this after `fail`, which decides the phase.
        emit(.failWaiting(reason))
    }
}
