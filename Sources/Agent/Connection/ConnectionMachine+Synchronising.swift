import Base
import Ratchet
import SMP

/// How both sides come to new keys. Each sends keys without a ratchet, in the box of the queue alone; by comparing them
/// both know who speaks first with the new ratchet, and that message proves it.
extension ConnectionMachine {
    /// The application wants new keys.
    mutating func synchronise() throws {
        guard state.phase == .connected, state.ratchet != nil else {
            throw AgentError.notPossible("Only a connection that stands can agree on new keys.")
        }
        guard state.present?.isGone == false else { throw AgentError.ended }
        guard state.synchronisation.phase != .started else { return }
        try changing { machine in
            let keys = try machine.tools.agreementKeys()
            machine.state.synchronisation.start(with: keys)
            machine.sendKeys(keys)
        }
    }

    /// What comes cannot be decrypted any more, nor can what would be sent: this side begins by itself, but not again and
    /// again with who does not answer, or whose server repeats what is long past.
    mutating func synchroniseIfRequired(now: Timestamp) throws {
        guard state.synchronisation.phase == .required, state.present?.isGone == false,
            state.phase == .connected || state.phase == .deleting
        else { return }
        guard state.agreements.take(now: now) else {
            if state.phase == .deleting { emit(.failWaiting(.unreadable)) }
            return
        }
        let keys = try tools.agreementKeys()
        state.synchronisation.start(with: keys)
        sendKeys(keys)
    }

    /// The state is of the past, and may have been gone on from since: nothing is encrypted with its keys again.
    mutating func restored() throws {
        guard state.ratchet != nil else { return }
        try changing { machine in
            switch machine.state.phase {
            // What the other side was told since is not known, and would be told with the same keys.
            case .joining, .confirming: machine.fail(.restored)
            case .deleting: machine.emit(.failWaiting(.restored))
            case .connected where machine.state.present?.isGone == false:
                let keys = try machine.tools.agreementKeys()
                machine.state.synchronisation.start(with: keys)
                machine.sendKeys(keys)
            case .connected, .inviting, .address, .requesting, .failed: break
            }
        }
    }

    private mutating func sendKeys(_ keys: AgreementKeys) {
        // What nobody is known to have cannot be read with the new keys.
        emit(.encryptAgain)
        let parameters = keys.parameters(version: tools.settings.maxVersion)
        emit(
            .send(
                Outgoing(kind: .keys, content: parameters.encoded, notifies: false, isUrgent: true)))
    }

    mutating func receiveKeys(_ peer: AgreementParameters) throws {
        guard state.phase == .connected || state.phase == .deleting, !state.synchronisation.hasUsed(peer)
        else { return }
        let own: AgreementKeys
        if state.synchronisation.phase == .started, let keys = state.synchronisation.keys {
            own = keys
        } else {
            own = try tools.agreementKeys()
            sendKeys(own)
        }
        guard
            let ratchet = try? Ratchet.agreeingAnew(
                own, peer: peer, settings: tools.settings, tools: tools.ratchet)
        else { return }
        state.ratchet = ratchet
        state.synchronisation.agree(with: peer, answersReady: !ratchet.canSend)
        emit(.encryptAgain)
        if ratchet.canSend {
            send(.ratchetReady(lastReceived: state.sequence.lastReceived), isUrgent: true)
        }
    }
}
