import Base
import Ratchet
import SMP

/// Ratchet resynchronisation. Each side sends new keys (`R`), boxed for the queue but without a ratchet. Both
/// sides compare the keys to know which of them sends first with the new ratchet; that message (`E`) proves
/// the keys.
extension ConnectionMachine {
    /// Starts an agreement on new keys at the application's request.
    /// - Parameter areSent: whether a server has accepted the new keys of an agreement already under way.
    mutating func synchronise(now: ElapsedTime, areSent: Bool = false) throws {
        guard state.phase == .connected, state.ratchet != nil else {
            throw AgentError.notPossible("Only an established connection can agree on new keys.")
        }
        guard state.present?.isGone == false else { throw AgentError.ended }
        guard state.synchronisation.phase == .started else {
            return try changing { try $0.beginSynchronising(now: now) }
        }
        if areSent { repeatKeys() }
    }

    /// Sends the same keys again, in case they were lost. Different keys would start another agreement for a
    /// peer that has these; the same keys are used once.
    private mutating func repeatKeys() {
        guard state.synchronisation.phase == .started, let keys = state.synchronisation.keys else { return }
        sendKeys(keys)
    }

    /// Repeats the keys if a message still used the old ones a day after this side sent new ones.
    mutating func repeatUnfetchedKeys(now: ElapsedTime) {
        guard state.phase == .connected, state.synchronisation.phase == .started,
            state.agreements.isPast(now: now)
        else { return }
        _ = state.agreements.take(now: now)
        repeatKeys()
    }

    /// Restarts an agreement whose keys or reply have expired. Servers drop unread messages after some weeks,
    /// and the peer does not repeat them.
    mutating func followLostKeys(now: ElapsedTime) throws {
        guard state.phase == .connected, state.present?.isGone == false,
            [.started, .agreed].contains(state.synchronisation.phase),
            state.agreements.isPast(now: now, by: RatchetSync.keysAge)
        else { return }
        if state.synchronisation.phase == .agreed, state.ratchet?.canSend == true {
            // The peer may lack only this message. A repetition is harmless.
            _ = state.agreements.take(now: now)
            send(.ratchetReady(lastReceived: state.sequence.lastReceived), isUrgent: true)
        } else {
            try changing { try $0.beginSynchronising(now: now) }
        }
    }

    private mutating func beginSynchronising(now: ElapsedTime) throws {
        // User requests count too, but are never refused.
        _ = state.agreements.take(now: now)
        let keys = try tools.agreementKeys()
        state.synchronisation.start(with: keys)
        sendKeys(keys)
    }

    /// Starts an agreement after a failed decryption. A rate limit guards against a silent peer and a server
    /// that repeats old messages.
    /// - Parameter isLost: whether no later message can be decrypted either. If so, an old agreement is
    ///   restarted: in `.started` the keys or the reply were lost. In `.agreed` the peer has moved on,
    ///   because this state is an old copy.
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

    /// Continues from a restored, outdated state. Its keys may have been used since, so nothing is encrypted
    /// with them.
    mutating func restored(now: ElapsedTime) throws {
        guard state.ratchet != nil else { return }
        try changing { machine in
            switch machine.state.phase {
            // The peer may have received messages with these keys after the backup.
            case .joining, .confirming: machine.fail(.restored)
            case .deleting: machine.emit(.failWaiting(.restored))
            case .connected where machine.state.present?.isGone == false:
                try machine.beginSynchronising(now: now)
            case .connected, .inviting, .address, .requesting, .failed: break
            }
        }
    }

    private mutating func sendKeys(_ keys: AgreementKeys) {
        // The peer cannot use the new keys for messages that it may never have received.
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

    /// Returns this side's keys to combine with the peer's: those of the agreement that it started, or new
    /// keys, which it sends.
    ///
    /// In `.agreed`, the peer's keys may start another agreement or answer this side's earlier keys. The peer
    /// gets new keys within the rate limit, and afterwards counts as having answered the last ones. Without
    /// the limit, two sides that always send new keys would never finish.
    private mutating func ownKeys(toAnswerAt now: ElapsedTime) throws -> AgreementKeys {
        if let keys = state.synchronisation.keys {
            if state.synchronisation.phase == .started { return keys }
            guard state.agreements.take(now: now) else { return keys }
        } else if state.agreements.isPast(now: now) {
            // Records the time of the agreement for `followLostKeys`.
            _ = state.agreements.take(now: now)
        }
        let keys = try tools.agreementKeys()
        sendKeys(keys)
        return keys
    }
}
