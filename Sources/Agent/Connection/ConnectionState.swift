import Base
import Cryptography
import Ratchet
import SMP

/// The stored state of a connection.
struct ConnectionState: Sendable {
    private(set) var phase: ConnectionCondition.Phase
    /// The agreed agent protocol version.
    var agentVersion: UInt16 = SMPVersion.agents.upperBound
    /// This side's connection information (chat profile) for the handshake.
    var information: [UInt8]
    /// Private keys of an offered invitation, until the joiner uses them.
    var offeredKeys: AgreementKeys?
    /// The joiner's ratchet parameters for the inviter, until they are sent.
    var joinersParameters: AgreementParameters?
    var ratchet: Ratchet?
    var sequence = MessageSequence()
    var synchronisation = RatchetSync()
    /// Rate limit of the peer's queue rotations.
    var moves = RateLimit.moves
    /// Rate limit of key agreements that this side starts by itself.
    var agreements = RateLimit.agreements
    /// Security hash required for application messages. Empty forbids sending; nil accepts any keys.
    var requiredSecurity: [UInt8]?
    var receiving: [ReceivingQueue]
    var sending: [SendingQueue] = []

    private static let transitions: [ConnectionCondition.Phase: Set<ConnectionCondition.Phase>] = [
        .inviting: [.confirming, .failed, .deleting],
        .address: [.deleting],
        .requesting: [.confirming, .failed, .deleting],
        .joining: [.connected, .failed, .deleting],
        .confirming: [.connected, .failed, .deleting],
        .connected: [.deleting],
        .failed: [.deleting],
        .deleting: [],
    ]

    mutating func enter(_ next: ConnectionCondition.Phase) {
        precondition(Self.transitions[phase]?.contains(next) == true, "\(phase) does not become \(next)")
        phase = next
    }

    /// Records the time for queues that begin to leave their servers.
    mutating func noteLeavingQueues(at now: ElapsedTime) {
        for place in receiving.indices
        where receiving[place].status.isLeaving && receiving[place].leavesSince == nil {
            receiving[place].leavesSince = now
        }
    }

    /// Whether the current keys meet `requiredSecurity`.
    var hasRequiredSecurity: Bool {
        requiredSecurity.map { $0 == ratchet?.securityHash } ?? true
    }

    /// The queue that messages go to now.
    var present: SendingQueue? { sending.first { $0.use != .next } }

    /// Returns the active receiving queue, or throws unless the connection is established.
    func activeQueue() throws -> ReceivingQueue {
        guard phase == .connected else {
            throw AgentError.notPossible("Only an established connection can be moved to another server.")
        }
        guard let standing = receiving.first(where: { $0.status == .active }) else {
            throw AgentError.damagedState
        }
        return standing
    }

    var condition: ConnectionCondition {
        ConnectionCondition(
            phase: phase, synchronisation: synchronisation.phase,
            isRotating: receiving.contains { $0.isReplacement }, isGone: present?.isGone ?? false,
            isRefused: present.map { !$0.isGone && $0.refusals.count > 0 } ?? false,
            isTakenOver: receiving.contains { $0.isTakenOver && $0.status == .active })
    }

    /// The request that the link of an invitation or an address carries, while it is usable.
    var request: ConnectionRequest? {
        guard let queue = receiving.first(where: { $0.status == .active }), let address = queue.address else {
            return nil
        }
        let offered = OfferedQueue(address: address)
        switch phase {
        case .address: return ConnectionRequest(kind: .contact, queues: [offered])
        case .inviting, .requesting:
            guard let keys = offeredKeys else { return nil }
            let offer = ConnectionRequest.EncryptionOffer(
                versions: RatchetVersion.supported, first: keys.first.publicKey,
                second: keys.second.publicKey, kemKey: keys.kem?.publicKey)
            return ConnectionRequest(kind: .invitation(offer), queues: [offered])
        case .joining, .confirming, .connected, .failed, .deleting: return nil
        }
    }
}
