import Base
import Cryptography
import Ratchet
import SMP

/// Handling of delivered messages. The caller acknowledges each message, even an undecryptable one: it would
/// never become readable and would block the queue. Only a failure of the cryptographic library is retried.
extension ConnectionMachine {
    /// - Parameters:
    ///   - place: index of the queue in `state.receiving`.
    ///   - now: this machine's own clock. The server's time is untrusted and decides nothing.
    ///   - isKnown: whether a ciphertext with this hash was processed before. The server redelivers a message
    ///     if its `ACK` was lost.
    mutating func receive(
        _ body: DeliveredBody, at place: Int, now: ElapsedTime, isKnown: ([UInt8]) throws -> Bool
    ) throws {
        switch body {
        case .quota:
            guard state.phase == .connected, let address = state.receiving[place].address else { return }
            send(.queueContinue(address.location), isUrgent: false)
        case .message(let received, _, let body):
            guard let message = try? QueueMessage(decoding: body),
                let (envelope, senderKey) = open(message, at: place)
            else { return }
            try receive(
                envelope, senderKey: senderKey, received: Timestamp(seconds: received), body: body,
                at: place, now: now, isKnown: isKnown)
        }
    }

    /// Opens the box between sender and recipient.
    private func open(_ message: QueueMessage, at place: Int) -> (AgentEnvelope, senderKey: [UInt8])? {
        let queue = state.receiving[place]
        // Each request to an address carries its own key. In other queues only the first message does.
        let known = queue.mode == .contact ? nil : queue.senderKey
        guard let key = known ?? message.senderKey,
            let secret = try? AgreementKey(rawValue: queue.queueKey).wipedSecret(with: key),
            let content = try? message.open(secret: secret),
            let envelope = AgentEnvelope(decoding: content.envelope)
        else { return nil }
        return (envelope, key)
    }

    mutating func receive(
        _ envelope: AgentEnvelope, senderKey: [UInt8], received: Timestamp, body: [UInt8], at place: Int,
        now: ElapsedTime, isKnown: ([UInt8]) throws -> Bool
    ) throws {
        switch envelope.content {
        case .confirmation(let parameters, let message):
            try receiveConfirmation(
                parameters, message, version: envelope.version, senderKey: senderKey, at: place)
        case .invitation(let link, let information):
            guard try !isKnown(SHA256.hash(body)) else { return }
            receiveRequest(link: link, information: information, body: body)
        case .keys(let parameters, _):
            guard state.receiving[place].senderKey != nil else { return }
            state.agentVersion = max(
                state.agentVersion, min(envelope.version, SMPVersion.agents.upperBound))
            try changing { try $0.receiveKeys(parameters, now: now) }
        case .message(let message):
            // Anyone who knows the queue can seal a box; only the ratchet authenticates the peer.
            guard state.receiving[place].senderKey != nil, try !isKnown(SHA256.hash(message)) else { return }
            try changing { machine in
                machine.replaceOldQueues(with: place)
                let isLate = machine.state.receiving[place].status != .active
                try machine.receive(
                    message, version: envelope.version, received: received, isLate: isLate, now: now)
            }
        }
    }

    private mutating func receive(
        _ message: [UInt8], version: UInt16, received: Timestamp, isLate: Bool, now: ElapsedTime
    ) throws {
        guard var ratchet = state.ratchet else { return }
        let plain: [UInt8]
        do throws(RatchetError) {
            plain = try ratchet.decrypt(message, tools: tools.ratchet)
        } catch  where error.code == .library {
            throw error
        } catch {
            // Once both sides use the KEM, messages cannot be decrypted without it; agree on new keys without
            // a KEM.
            let isLost = [.headerNotAuthentic, .tooManySkipped, .kemUnavailable].contains(error.code)
            // Remember the failure, so that redeliveries do not trigger more key agreements.
            emit(.remember(hash: SHA256.hash(message)))
            state.synchronisation.fail(isLost: isLost)
            return try synchroniseIfRequired(now: now, isLost: isLost)
        }
        state.ratchet = ratchet
        confirmedByMessage()
        clearRefusals()
        emit(.remember(hash: SHA256.hash(message)))
        state.synchronisation.succeed()
        repeatUnfetchedKeys(now: now)
        guard case .numbered(let number, let previousHash, let content) = AgentMessage(decoding: plain) else {
            return
        }
        state.agentVersion = max(state.agentVersion, min(version, SMPVersion.agents.upperBound))
        let lastBefore = state.sequence.lastReceived
        let integrity = state.sequence.receive(
            plain, number: number, previousHash: previousHash, isLate: isLate)
        if case .body(let body) = content {
            emit(
                .deliver(
                    ReceivedMessage(body: body, received: received, integrity: integrity), number: number,
                    hash: SHA256.hash(plain)))
        } else {
            receive(content, now: now, lastBefore: lastBefore)
        }
    }

    /// Handles a message between agents.
    /// - Parameter lastBefore: number of the message received before this one.
    private mutating func receive(_ content: MessageContent, now: ElapsedTime, lastBefore: Int64) {
        switch content {
        case .receipts(let receipts): for receipt in receipts { emit(.delivered(receipt)) }
        case .queueContinue: emit(.tryAgain)
        case .newQueues(let queues): receiveNewQueues(queues, now: now)
        case .queueKeys(let keys): receiveQueueKeys(keys)
        case .useQueues(let queues): receiveUseQueues(queues)
        case .ratchetReady(let number):
            let ready = state.synchronisation.takeReady()
            // The peer has not changed keys, so its claim cannot mean lost messages.
            guard ready != .ignored else { return }
            // The peer sent this number when it got our new keys; it had received all messages up to it.
            emit(.lost(after: max(0, number)))
            state.sequence.skip(to: number)
            if ready == .answered {
                // Report the last message received with the old keys, not this one.
                send(.ratchetReady(lastReceived: lastBefore), isUrgent: true)
            }
        // Any message in the new queue proves that it works. `H` (hello) belongs to the older handshake.
        case .queueTest, .hello, .body, .unknown: break
        }
    }
}
