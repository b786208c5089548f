import Base
import Ratchet
import SMP

/// How both sides come to new keys. Each sends keys without a ratchet, in the box of the queue alone; by comparing them
/// both know who speaks first with the new ratchet, and that message proves it.
extension ConnectionMachine {
    /// The application wants new keys.
    /// - Parameter areSent: whether a server has this side's new keys already, where it has begun.
    mutating func synchronise(now: ElapsedTime, areSent: Bool = false) throws {
        guard state.phase == .connected, state.ratchet != nil else {
            throw AgentError.notPossible("Only a connection that stands can agree on new keys.")
        }
        guard state.present?.isGone == false else { throw AgentError.ended }
        guard state.synchronisation.phase == .started else {
            return try changing { try $0.beginSynchronising(now: now) }
        }
        if areSent { repeatKeys() }
    }

    /// The same keys once more: they may be lost. Other ones would be another beginning for who has fetched these; the
    /// same are used once.
    private mutating func repeatKeys() {
        guard state.synchronisation.phase == .started, let keys = state.synchronisation.keys else { return }
        sendKeys(keys)
    }

    /// What came can be read with the old keys: a day after this side has begun, who wrote it had not got the new ones.
    mutating func repeatUnfetchedKeys(now: ElapsedTime) {
        guard state.phase == .connected, state.synchronisation.phase == .started,
            state.agreements.isPast(now: now)
        else { return }
        _ = state.agreements.take(now: now)
        repeatKeys()
    }

    /// Servers have taken everything that is for new keys, and nobody has answered. What was not fetched is gone from them
    /// after some weeks, and nobody would send it again.
    mutating func followLostKeys(now: ElapsedTime) throws {
        guard state.phase == .connected, state.present?.isGone == false,
            [.started, .agreed].contains(state.synchronisation.phase),
            state.agreements.isPast(now: now, by: Synchronisation.keysAge)
        else { return }
        if state.synchronisation.phase == .agreed, state.ratchet?.canSend == true {
            // The other side may wait for this word alone. Heard twice it does no harm.
            _ = state.agreements.take(now: now)
            send(.ratchetReady(lastReceived: state.sequence.lastReceived), isUrgent: true)
        } else {
            try changing { try $0.beginSynchronising(now: now) }
        }
    }

    private mutating func beginSynchronising(now: ElapsedTime) throws {
        // Counted where it may be; the user may at any time.
        _ = state.agreements.take(now: now)
        let keys = try tools.agreementKeys()
        state.synchronisation.start(with: keys)
        sendKeys(keys)
    }

    /// What comes cannot be decrypted any more, nor can what would be sent: this side begins by itself, but not again and
    /// again with who does not answer, or whose server repeats what is long past.
    /// - Parameter isLost: whether none of the messages to come can be decrypted. Where this side has begun long ago,
    ///   its keys have not come, or the answer to them has not. Where both have agreed long ago, the other side has gone
    ///   on with other keys: this state is a copy of one that was left in the middle of it.
    mutating func synchroniseIfRequired(now: ElapsedTime, isLost: Bool) throws {
        let isRequired =
            state.synchronisation.phase == .required
            || isLost && [.started, .agreed].contains(state.synchronisation.phase)
                && state.agreements.isPast(now: now)
        guard isRequired, state.present?.isGone == false,
            state.phase == .connected || state.phase == .deleting
        else { return }
        guard state.agreements.allows(now: now) else {
            if state.phase == .deleting { emit(.failWaiting(.unreadable)) }
            return
        }
        try beginSynchronising(now: now)
    }

    /// The state is of the past, and may have been gone on from since: nothing is encrypted with its keys again.
    mutating func restored(now: ElapsedTime) throws {
        guard state.ratchet != nil else { return }
        try changing { machine in
            switch machine.state.phase {
            // What the other side was told since is not known, and would be told with the same keys.
            case .joining, .confirming: machine.fail(.restored)
            case .deleting: machine.emit(.failWaiting(.restored))
            case .connected where machine.state.present?.isGone == false:
                try machine.beginSynchronising(now: now)
            case .connected, .inviting, .address, .requesting, .failed: break
            }
        }
    }

    private mutating func sendKeys(_ keys: AgreementKeys) {
        // What nobody is known to have cannot be read with the new keys.
        emit(.encryptAgain)
        emit(.replaceKeys)
        let parameters = keys.parameters(version: tools.settings.maxVersion)
        emit(
            .send(
                Outgoing(kind: .keys, content: parameters.encoded, notifies: false, isUrgent: true)))
    }

    mutating func receiveKeys(_ peer: AgreementParameters, now: ElapsedTime) throws {
        guard state.phase == .connected || state.phase == .deleting, !state.synchronisation.hasUsed(peer)
        else { return }
        let own = try ownKeys(toAnswerAt: now)
        guard
            let ratchet = try ifUsable({ () throws(RatchetError) in
                try Ratchet.agreeingAnew(own, peer: peer, settings: tools.settings, tools: tools.ratchet)
            })
        else { return }
        state.ratchet = ratchet
        state.synchronisation.agree(own, with: peer, answersReady: !ratchet.canSend)
        emit(.encryptAgain)
        if ratchet.canSend {
            send(.ratchetReady(lastReceived: state.sequence.lastReceived), isUrgent: true)
        }
    }

    /// The keys that go with the other side's: those that this side has begun with, else new ones, which are sent.
    ///
    /// While both have agreed and nothing has proven it, nobody can tell whether the other side begins once more or
    /// answers earlier keys of this one. It gets new keys as often as this side may begin by itself, and is then taken to
    /// answer the last: two sides that both always sent new ones would never come to an end.
    private mutating func ownKeys(toAnswerAt now: ElapsedTime) throws -> AgreementKeys {
        if let keys = state.synchronisation.keys {
            if state.synchronisation.phase == .started { return keys }
            guard state.agreements.take(now: now) else { return keys }
        } else if state.agreements.isPast(now: now) {
            // From now on it is known when both have agreed (`followLostKeys`).
            _ = state.agreements.take(now: now)
        }
        let keys = try tools.agreementKeys()
        sendKeys(keys)
        return keys
    }
}
