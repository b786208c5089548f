import Base
import Cryptography
import SMP

/// Queue rotation: a side replaces its receiving queue while messages continue in both directions.
///
///     rotating side                 peer
///     QA: the new queue         →
///                               ←   QK: its keys for the new queue
///     secures the queue (KEY)
///     QU: the queue is ready    →
///                               ←   QT and all later messages, in the new queue
///     suspends, drains and deletes the old queue
///     (closes, empties and deletes the old queue)
extension ConnectionMachine {
    /// Starts a rotation to `server`; nil keeps the current server.
    mutating func rotate(to server: ServerAddress?) throws {
        let present = try state.activeQueue()
        guard !state.receiving.contains(where: { $0.isReplacement }) else { return }
        changing { machine in
            machine.state.receiving.append(
                .fresh(
                    server: server ?? present.server, mode: .messaging, isReplacement: true,
                    random: machine.tools.random))
        }
    }

    /// Starts a rotation to the first of `servers` that is not the current one.
    mutating func move(toOneOf servers: [ServerAddress]) throws {
        let present = try state.activeQueue().server
        guard state.present?.isGone == false else { throw AgentError.ended }
        let other = servers.first { $0.fingerprint != present.fingerprint }
        guard let other else { throw AgentError.noOtherServer }
        try rotate(to: other)
    }

    mutating func announceReplacement(_ place: Int) {
        guard let address = state.receiving[place].address else { return }
        let replaced = state.receiving.first { $0.status == .active && !$0.isReplacement }?.address?.location
        send(.newQueues([.init(queue: OfferedQueue(address: address), replaces: replaced)]))
    }

    mutating func receiveQueueKeys(_ keys: [MessageContent.QueueKeys]) {
        for keys in keys {
            let location = keys.queue.address.location
            for place in state.receiving.indices
            where state.receiving[place].isReplacement && state.receiving[place].senderKey == nil {
                guard let address = state.receiving[place].address, location.isPlace(of: address) else {
                    continue
                }
                guard let own = try? AgreementKey(rawValue: state.receiving[place].queueKey),
                    (try? own.wipedSecret(with: keys.queue.address.key)) != nil
                else { continue }
                state.receiving[place].senderKey = keys.queue.address.key
                state.receiving[place].keyToSecure = keys.authorizationKey
            }
        }
    }

    /// Continues after `KEY`: the server has secured the queue at `place` with the peer's key.
    mutating func securedReplacement(_ place: Int) {
        state.receiving[place].keyToSecure = nil
        guard let address = state.receiving[place].address else { return }
        send(.useQueues([.init(queue: address.location, isSecured: true)]))
    }

    /// Retires the other queues if the queue at `place`, which received a message, replaces them.
    mutating func replaceOldQueues(with place: Int) {
        guard state.receiving[place].isReplacement else { return }
        state.receiving[place].isReplacement = false
        for other in state.receiving.indices where other != place && state.receiving[other].status == .active
        {
            state.receiving[other].status = .suspending
        }
    }

    // MARK: - The peer rotates

    mutating func receiveNewQueues(_ queues: [MessageContent.NewQueue], now: ElapsedTime) {
        guard let present = state.present, present.use == .present else { return }
        let usable = queues.first { new in
            new.queue.address.mode == .messaging && new.replaces?.isPlace(of: present.address) ?? true
        }
        guard let usable, let version = SMPVersion.agreed(usable.queue.versions, SMPVersion.queues) else {
            return
        }
        let location = usable.queue.address.location
        let known = state.sending.first { $0.use == .next && location.isPlace(of: $0.address) }
        let next =
            known
            ?? SendingQueue.fresh(usable.queue.address, version: version, use: .next, random: tools.random)
        guard let publicKey = try? next.publicKey, let authorization = try? next.authorization.publicKey,
            let address = QueueAddress(
                server: next.address.server, senderID: next.address.senderID, key: publicKey,
                mode: next.address.mode)
        else { return }
        guard next.hasUsableKey, known != nil || state.moves.take(now: now) else { return }
        state.sending.removeAll { $0.use == .next }
        state.sending.append(next)
        send(
            .queueKeys([
                .init(queue: ReplyQueue(version: version, address: address), authorizationKey: authorization)
            ]))
    }

    mutating func receiveUseQueues(_ queues: [MessageContent.QueueUse]) {
        for use in queues where use.isSecured {
            guard
                var next = state.sending.first(where: { $0.use == .next && use.queue.isPlace(of: $0.address) }
                )
            else { continue }
            // Switch at once: messages that waited for the old queue go to the new one, as the peer reads
            // both.
            next.use = .present
            next.isSecured = true
            state.sending = [next]
            send(.queueTest([use.queue]))
            emit(.tryAgain)
        }
    }
}
