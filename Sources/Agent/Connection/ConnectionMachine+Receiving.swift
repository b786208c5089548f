import Base
import Cryptography
import Ratchet
import SMP

/// What becomes of a message that a server has delivered. Whatever it is, it is acknowledged afterwards: what cannot
/// be read now never can, and holds up what comes after it. Only where the cryptographic library fails it is tried again.
extension ConnectionMachine {
    /// - Parameters:
    ///   - place: of the queue that it was in.
    ///   - now: by this side's own clock. What the server says of the time decides nothing: it could say anything.
    ///   - isKnown: whether a ciphertext of this hash was processed before. It comes again when its acknowledgement
    ///     was lost.
    mutating func receive(
        _ body: DeliveredBody, at place: Int, now: ElapsedTime, isKnown: ([UInt8]) throws -> Bool
    ) throws {
        switch body {
        case .quota:
            guard state.phase == .connected, let address = state.receiving[place].address else { return }
            send(.roomAgain(address.location), isUrgent: false)
        case .message(let received, _, let body):
            guard let message = try? QueueMessage(decoding: body),
                let (envelope, senderKey) = open(message, at: place)
            else { return }
            try receive(
                envelope, senderKey: senderKey, received: Timestamp(seconds: received), body: body,
                at: place, now: now, isKnown: isKnown)
        }
    }

    /// Opens the sender's box.
    private func open(_ message: QueueMessage, at place: Int) -> (AgentEnvelope, senderKey: [UInt8])? {
        let queue = state.receiving[place]
        // Each who asks at an address brings a key. Of other queues only the first message has one.
        let known = queue.mode == .contact ? nil : queue.senderKey
        guard let key = known ?? message.senderKey,
            let secret = try? AgreementKey(rawValue: queue.queueKey).wipedSecret(with: key),
            let content = try? message.open(secret: secret),
            let envelope = AgentEnvelope(decoding: content.envelope)
        else { return nil }
        return (envelope, key)
    }

    /// What was in the box.
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
            // Whoever knows the queue can make a box; only the ratchet says who it was.
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
            // Without the KEM that both have used, nothing that comes can be read: new keys are agreed on without it.
            let isLost = [.headerNotAuthentic, .tooManySkipped, .kemUnavailable].contains(error.code)
            // Once: it would otherwise be a reason for new keys as often as the server repeats it.
            emit(.remember(hash: SHA256.hash(message)))
            state.synchronisation.fail(isLost: isLost)
            return try synchroniseIfRequired(now: now, isLost: isLost)
        }
        state.ratchet = ratchet
        confirmedByMessage()
        stillThere()
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

    /// What agents say to each other.
    /// - Parameter lastBefore: number of the message that was received before this one.
    private mutating func receive(_ content: MessageContent, now: ElapsedTime, lastBefore: Int64) {
        switch content {
        case .receipts(let receipts): for receipt in receipts { emit(.delivered(receipt)) }
        case .roomAgain: emit(.tryAgain)
        case .newQueues(let queues): receiveNewQueues(queues, now: now)
        case .queueKeys(let keys): receiveQueueKeys(keys)
        case .useQueues(let queues): receiveUseQueues(queues)
        case .ratchetReady(let number):
            let ready = state.synchronisation.takeReady()
            // Without new keys nothing was lost with the old ones, whatever the other side says.
            guard ready != .ignored else { return }
            // Said when it had our new keys, before which everything came that was sent with the old ones.
            emit(.lost(after: max(0, number)))
            state.sequence.skip(to: number)
            if ready == .answered {
                // What came with the old keys: not this message, which came with the new ones.
                send(.ratchetReady(lastReceived: lastBefore), isUrgent: true)
            }
        // Any message in the new queue is proof enough, and hellos are of the older handshake.
        case .queueTest, .hello, .body, .unknown: break
        }
    }
}
