import Base
import Cryptography
import Ratchet
import SMP

/// A connection as a state machine without I/O. Deliveries, server replies and application requests go in; a
/// new state and effects come out. A driver loads the state, makes one step, and stores state and effects in
/// one transaction before reporting the step.
///
/// The machine is large because an event can affect the whole connection: phase, queues, ratchet and
/// rotation. Each extension handles the events of one subject and has no state. The rules of the parts are in
/// their types (`ConnectionState`, `ReceivingQueue`, `SendingQueue`, `RatchetSync`, `MessageSequence`).
struct ConnectionMachine {
    var state: ConnectionState
    private(set) var effects: [Effect] = []
    let tools: AgentTools

    init(_ state: ConnectionState, tools: AgentTools) {
        self.state = state
        self.tools = tools
    }

    mutating func emit(_ effect: Effect) { effects.append(effect) }

    mutating func send(_ content: MessageContent, notifies: Bool = false, isUrgent: Bool = false) {
        emit(.send(.message(content, notifies: notifies, isUrgent: isUrgent)))
    }

    /// Makes `change` and emits `.conditionChanged` if the condition differs afterwards. Phase changes have
    /// their own events.
    mutating func changing(_ change: (inout ConnectionMachine) throws -> Void) rethrows {
        var before = state.condition
        try change(&self)
        before.phase = state.phase
        if state.condition != before { emit(.tell(.conditionChanged(state.condition))) }
    }

    /// Ends a handshake that cannot succeed.
    mutating func fail(_ reason: FailureReason) {
        guard [.inviting, .requesting, .joining, .confirming].contains(state.phase) else { return }
        state.enter(.failed)
        emit(.failWaiting(reason))
        emit(.tell(.connectionFailed(reason)))
        for place in state.receiving.indices { state.receiving[place].status = .deleting }
    }

    /// Deletes the connection for the application.
    mutating func delete(afterSending: Bool) {
        guard state.phase != .deleting else {
            if !afterSending { emit(.failWaiting(.deleted)) }
            return
        }
        // Without keys no message can be sent, and no agreement is under way.
        let mayWait =
            afterSending && state.phase == .connected && state.present?.isGone == false
            && state.synchronisation.phase != .required
        state.enter(.deleting)
        if !mayWait { emit(.failWaiting(.deleted)) }
    }

    /// Deletes the queues, after all final messages were sent or have failed.
    mutating func finishDeleting() {
        for place in state.receiving.indices { state.receiving[place].status = .deleting }
    }

    /// Gives up the queue at `place`: the server refuses to create or secure it.
    mutating func cannotCreate(_ place: Int) {
        state.receiving[place].isReplacement = false
        state.receiving[place].keyToSecure = nil
        state.receiving[place].status = .deleting
        fail(.refused)
    }

    /// Marks a queue to which another program has subscribed, or which it has deleted.
    mutating func takenOver(_ place: Int) {
        changing { $0.state.receiving[place].isTakenOver = true }
    }

    mutating func isReceivingAgain(_ place: Int) {
        changing { $0.state.receiving[place].isTakenOver = false }
    }
}

/// Cryptographic dependencies of connections.
struct AgentTools: Sendable {
    var ratchet: RatchetTools
    var settings: RatchetSettings

    var random: any RandomSource { ratchet.random }

    /// Generates keys for an agreement, with a KEM key if the KEM is enabled and installed.
    func agreementKeys() throws -> AgreementKeys {
        let kem = settings.postQuantum ? try ratchet.kem?.generate() : nil
        let random = ratchet.random
        return AgreementKeys(first: .generate(random: random), second: .generate(random: random), kem: kem)
    }
}
