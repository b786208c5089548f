import Base
import Cryptography
import Ratchet
import SMP

/// The handshake of a new connection.
///
///     inviter                                  joiner
///     creates a queue and a link           →   creates its queue
///     reads the joiner's queue, profile    ←   confirmation (`C`) with its ratchet parameters
///     confirmation with its profile        →   connected
///     connected once the server took it
///
/// A contact address starts the same handshake: the requester is the inviter, the address's owner the joiner.
extension ConnectionMachine {
    /// Returns the state of a connection that joins an invitation.
    /// - Parameter key: sender key for the inviter's queue. Pass the same key each time this invitation is
    ///   joined: the queue accepts only one.
    static func joining(
        _ request: ConnectionRequest, server: ServerAddress, information: [UInt8], key: JoiningKey,
        tools: AgentTools
    ) throws -> ConnectionState {
        guard case .invitation(let offer) = request.kind, let offered = request.queues.first,
            let agentVersion = SMPVersion.agreed(request.agentVersions, SMPVersion.agents),
            let queueVersion = SMPVersion.agreed(offered.versions, SMPVersion.queues),
            let ratchetVersion = SMPVersion.agreed(offer.versions, RatchetVersion.supported),
            Handshake.isSupported(agent: agentVersion, queue: queueVersion, mode: offered.address.mode)
        else { throw Handshake.unsupported }
        var sending = SendingQueue.fresh(
            offered.address, version: queueVersion, use: .present, random: tools.random)
        guard sending.hasUsableKey else { throw Handshake.unusable }
        sending.authorizationSeed = key.seed
        sending.isSecured = key.isSecured
        let inviter = AgreementParameters(
            version: ratchetVersion, first: offer.first, second: offer.second,
            kem: offer.kemKey.map { .proposed(key: $0) })
        let own = try tools.agreementKeys()
        guard
            let (ratchet, parameters) = try ifUsable({ () throws(RatchetError) in
                try Ratchet.joining(own, inviter: inviter, settings: tools.settings, tools: tools.ratchet)
            })
        else { throw Handshake.unusable }
        let queue = ReceivingQueue.fresh(server: server, mode: .messaging, random: tools.random)
        var state = ConnectionState(
            phase: .joining, agentVersion: agentVersion, information: information, receiving: [queue])
        state.ratchet = ratchet
        state.joinersParameters = parameters
        state.sending = [sending]
        return state
    }

    /// Returns the state of a connection that sends a request to a contact address.
    /// - Parameters:
    ///   - confirmation: connection information to send after the owner has accepted.
    static func requesting(
        _ request: ConnectionRequest, server: ServerAddress, confirmation: [UInt8], tools: AgentTools
    ) throws -> ConnectionState {
        guard request.kind == .contact, let offered = request.queues.first,
            let agentVersion = SMPVersion.agreed(request.agentVersions, SMPVersion.agents),
            let queueVersion = SMPVersion.agreed(offered.versions, SMPVersion.queues),
            agentVersion >= Handshake.minAgentVersion
        else { throw Handshake.unsupported }
        let queue = ReceivingQueue.fresh(server: server, mode: .messaging, random: tools.random)
        var state = ConnectionState(phase: .requesting, information: confirmation, receiving: [queue])
        state.offeredKeys = try tools.agreementKeys()
        let sending = SendingQueue.fresh(
            offered.address, version: queueVersion, use: .request, random: tools.random)
        guard sending.hasUsableKey else { throw Handshake.unusable }
        state.sending = [sending]
        return state
    }

    /// Continues after `NEW`: the server has created the queue at `place`.
    mutating func created(_ ids: Answer.QueueIDs, at place: Int) {
        state.receiving[place].created(ids)
        switch state.phase {
        case .joining:
            emit(.send(.introduction(.confirmation, state.information)))
        case .connected where state.receiving[place].isReplacement: announceReplacement(place)
        case .inviting, .address, .requesting, .confirming, .connected: break
        // The connection has ended, so its new queue is unused.
        case .failed, .deleting: state.receiving[place].status = .deleting
        }
    }

    /// Handles the peer's confirmation (`C`), its first message.
    mutating func receiveConfirmation(
        _ parameters: AgreementParameters?, _ message: [UInt8], version: UInt16, senderKey: [UInt8]?,
        at place: Int
    ) throws {
        switch (state.phase, parameters) {
        case (.inviting, let parameters?), (.requesting, let parameters?):
            try receiveJoiner(parameters, message, version: version, senderKey: senderKey, at: place)
        case (.joining, nil):
            guard var ratchet = state.ratchet,
                let plain = try ifUsable({ () throws(RatchetError) in
                    try ratchet.decrypt(message, tools: tools.ratchet)
                }), case .confirmed(let information) = AgentMessage(decoding: plain)
            else { return }
            begin(ratchet, with: plain, message, version: version, senderKey: senderKey, at: place)
            state.joinersParameters = nil
            state.enter(.connected)
            emit(.tell(.connected(information: information)))
        default: break
        }
    }

    private mutating func receiveJoiner(
        _ parameters: AgreementParameters, _ message: [UInt8], version: UInt16, senderKey: [UInt8]?,
        at place: Int
    ) throws {
        // Check this first: the key agreement costs as much as hundreds of messages.
        guard let keys = state.offeredKeys, Ratchet.isMessage(message),
            let (ratchet, plain) = try ifUsable({ () throws(RatchetError) in
                var ratchet = try Ratchet.inviting(
                    keys, joiner: parameters, settings: tools.settings, tools: tools.ratchet)
                let plain = try ratchet.decrypt(message, tools: tools.ratchet)
                return (ratchet, plain)
            }), case .joined(let queues, let information) = AgentMessage(decoding: plain)
        else { return }
        guard let reply = queues.first,
            Handshake.isSupported(agent: version, queue: reply.version, mode: reply.address.mode)
        else { return fail(.incompatible) }
        let sending = SendingQueue.fresh(
            reply.address, version: min(reply.version, SMPVersion.queues.upperBound), use: .present,
            random: tools.random)
        guard sending.hasUsableKey else { return fail(.incompatible) }
        begin(ratchet, with: plain, message, version: version, senderKey: senderKey, at: place)
        state.offeredKeys = nil
        state.receiving[place].link = nil
        state.sending = [sending]
        state.enter(.confirming)
        emit(.tell(.connecting(information: information)))
        emit(.send(.introduction(.confirmation, state.information)))
    }

    private mutating func begin(
        _ ratchet: Ratchet, with plain: [UInt8], _ message: [UInt8], version: UInt16, senderKey: [UInt8]?,
        at place: Int
    ) {
        state.ratchet = ratchet
        state.agentVersion = min(version, SMPVersion.agents.upperBound)
        state.sequence.receiveFirst(plain)
        state.receiving[place].senderKey = senderKey
        emit(.remember(hash: SHA256.hash(message)))
        // The server's OK for our confirmation may have been lost; this message proves that the peer has it.
        emit(.introduced)
    }

    /// Enters `.connected` on a decrypted message: its sender must have the inviter's confirmation.
    mutating func confirmedByMessage() {
        guard state.phase == .confirming else { return }
        emit(.introduced)
        state.enter(.connected)
        emit(.tell(.connected(information: [])))
    }

    /// Handles a request to this address. It is not encrypted by a ratchet, which exists only after
    /// acceptance. Drops one with an unreadable link, which could never be accepted.
    mutating func receiveRequest(link: String, information: [UInt8], body: [UInt8]) {
        guard state.phase == .address, case .invitation? = (try? ConnectionRequest(link: link))?.kind
        else { return }
        emit(.remember(hash: SHA256.hash(body)))
        emit(.request(link: link, information: information))
    }
}

/// The sender key that secures the inviter's queue.
struct JoiningKey: Sendable {
    /// Ed25519 seed, 32 bytes.
    var seed: [UInt8]
    /// Whether `LKEY` has already secured the queue with this key.
    var isSecured = false
}

/// The minimum versions for a handshake: agents since 2024 support it.
enum Handshake {
    static let minAgentVersion: UInt16 = 6
    static let minQueueVersion: UInt16 = 3

    static let unsupported = AgentError(
        .unusableLink,
        "The link comes from an unsupported version of SimpleX; ask its owner for a new link.")

    static let unusable = AgentError(
        .unusableLink, "The keys in the link are unusable; ask its owner for a new link.")

    static func isSupported(agent: UInt16, queue: UInt16, mode: QueueMode) -> Bool {
        agent >= minAgentVersion && queue >= minQueueVersion && mode == .messaging
    }
}
