import Base
import Cryptography
import Ratchet
import SMP

/// A connection, as a machine without input and output: what was received, what servers answered and what the
/// application wants go in, a new state and effects come out. A driver loads the state, does one step, and stores
/// state and effects in one transaction, before anything outside is told that the step was done.
///
/// Large, because an event concerns all of a connection: its phase, queues on both sides, ratchet, and what is being
/// replaced. Each extension has the events of one subject and no state; what these parts may do by themselves is in
/// their types (`ConnectionState`, `ReceivingQueue`, `SendingQueue`, `Synchronisation`, `MessageSequence`).
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

    /// Tells of the condition as it is after `change`, where that has changed it. How far the connection is has events of
    /// its own.
    mutating func changing(_ change: (inout ConnectionMachine) throws -> Void) rethrows {
        var before = state.condition
        try change(&self)
        before.phase = state.phase
        if state.condition != before { emit(.tell(.conditionChanged(state.condition))) }
    }

    /// The connection cannot be made.
    mutating func fail(_ reason: FailureReason) {
        guard [.inviting, .requesting, .joining, .confirming].contains(state.phase) else { return }
        state.enter(.failed)
        emit(.failWaiting(reason))
        emit(.tell(.connectionFailed(reason)))
        for place in state.receiving.indices { state.receiving[place].status = .deleting }
    }

    /// The application deletes it.
    mutating func delete(afterSending: Bool) {
        guard state.phase != .deleting else {
            if !afterSending { emit(.failWaiting(.deleted)) }
            return
        }
        // Without keys nothing can be sent, and nobody is about to agree on some.
        let mayWait =
            afterSending && state.phase == .connected && state.present?.isGone == false
            && state.synchronisation.phase != .required
        state.enter(.deleting)
        if !mayWait { emit(.failWaiting(.deleted)) }
    }

    /// Everything that had to be sent before the end is sent, or has failed.
    mutating func finishDeleting() {
        for place in state.receiving.indices { state.receiving[place].status = .deleting }
    }

    /// The server will not make the queue at `place`, or not secure it.
    mutating func cannotCreate(_ place: Int) {
        state.receiving[place].isReplacement = false
        state.receiving[place].keyToSecure = nil
        state.receiving[place].status = .deleting
        fail(.refused)
    }

    /// Another program has subscribed to the queue, or has deleted it.
    mutating func takenOver(_ place: Int) {
        changing { $0.state.receiving[place].isTakenOver = true }
    }

    mutating func isReceivingAgain(_ place: Int) {
        changing { $0.state.receiving[place].isTakenOver = false }
    }
}

/// What connections need besides their state.
struct AgentTools: Sendable {
    var ratchet: RatchetTools
    var settings: RatchetSettings

    var random: any RandomSource { ratchet.random }

    /// Fresh keys for an agreement, with one of the KEM where that is wanted and there.
    func agreementKeys() throws -> AgreementKeys {
        let kem = settings.postQuantum ? try ratchet.kem?.generate() : nil
        let random = ratchet.random
        return AgreementKeys(first: .generate(random: random), second: .generate(random: random), kem: kem)
    }
}
