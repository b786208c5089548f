import Cryptography
import Ratchet
import SMP

/// Everything that is known of a connection, as it is stored.
struct ConnectionState: Sendable {
    private(set) var phase: ConnectionCondition.Phase
    /// The highest version that both sides are known to have.
    var agentVersion: UInt16
    /// Who this side is, for the other side's first look.
    var information: [UInt8]
    /// The private half of what an invitation offers, until the other side has used it.
    var offeredKeys: AgreementKeys?
    /// What the inviter needs of a joiner for its ratchet, until it was told.
    var joinersParameters: AgreementParameters?
    var ratchet: Ratchet?
    var sequence = MessageSequence()
    var synchronisation = Synchronisation()
    /// When the other side has moved its queue.
    var moves = RateLimit.moves
    /// When this side has begun to agree on new keys by itself.
    var agreements = RateLimit.agreements
    /// Of the keys with which alone messages of the application are sent; empty: with none; nil: with whichever there are.
    var requiredSecurity: [UInt8]?
    var receiving: [ReceivingQueue]
    var sending: [SendingQueue] = []

    init(
        phase: ConnectionCondition.Phase, agentVersion: UInt16 = SMPVersion.agents.upperBound,
        information: [UInt8], receiving: [ReceivingQueue]
    ) {
        self.phase = phase
        self.agentVersion = agentVersion
        self.information = information
        self.receiving = receiving
    }

    /// Every transition that there is.
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

    /// Whether the application wants messages sent with the present keys.
    var hasRequiredSecurity: Bool {
        requiredSecurity.map { $0 == ratchet?.securityHash } ?? true
    }

    /// Where messages go now.
    var present: SendingQueue? { sending.first { $0.use != .next } }

    /// In which this side receives, until another one takes its place.
    func standingQueue() throws -> ReceivingQueue {
        guard phase == .connected else {
            throw AgentError.notPossible("Only a connection that stands can be moved to another server.")
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

    /// What the link of an invitation or an address says, while it can be used.
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
