import Base
import Cryptography
import Posix
import SMP

/// Resolves links and creates queues with links.
struct LinkResolver: Sendable {
    let work: StoreWork
    let servers: any QueueServers
    let times: AgentTimes
    let random: any RandomSource

    /// A resolved link.
    struct Target: Sendable {
        var request: ConnectionRequest
        var linkData: [UInt8]
        /// SHA-256 of the link, its identity.
        var hash: [UInt8]
        /// Seed of the key that secured the queue of a one-time link (`LKEY`).
        var seed: [UInt8]?
    }

    /// A parsed link.
    enum Link: Sendable {
        case full(ConnectionRequest)
        case short(ShortLink)

        init(_ text: String) throws(SMPError) {
            if let short = try? ShortLink(link: text) {
                self = .short(short)
            } else {
                self = .full(try ConnectionRequest(link: text))
            }
        }

        var hash: [UInt8] {
            switch self {
            case .full(let request): SHA256.hash(Array(request.link.utf8))
            case .short(let link): SHA256.hash(Array(link.link.utf8))
            }
        }
    }

    /// Fetches a short link's data from its server (`LGET`, `LKEY`).
    /// - Parameter peer: the peer that named the link (`ClientRequest.peer`).
    func resolve(_ link: Link, for peer: String?) async throws -> Target {
        switch link {
        case .full(let request): return Target(request: request, linkData: [], hash: link.hash)
        case .short(let short):
            let (blobs, senderID, seed) = try await open(short, hash: link.hash, for: peer)
            let data = try LinkData(opening: blobs, link: short, senderID: senderID)
            return Target(request: data.request, linkData: data.userData, hash: link.hash, seed: seed)
        }
    }

    private func open(
        _ link: ShortLink, hash: [UInt8], for peer: String?
    ) async throws -> (blobs: LinkBlobs, senderID: [UInt8], seed: [UInt8]?) {
        var (command, key, seed): (Command, SigningKey?, [UInt8]?) = (.linkGet, nil, nil)
        if link.kind == .invitation {
            // Store the key before sending it: the queue accepts no other afterwards.
            let fresh = random.bytes(32)
            let stored = try await work.run { store in
                try store.change { try $0.links.seed(ofLink: hash, fresh: fresh, now: $0.now) }.0
            }
            let signing = try SigningKey(seed: stored)
            (command, key, seed) = (.linkKey(key: signing.publicKey), signing, stored)
        }
        let request = ClientRequest(
            command, of: link.id, key: key.map { .signing($0) }, timeout: times.interactiveAnswer, peer: peer)
        switch try await servers.ask(request, of: link.server) {
        case .link(let senderID, let blobs): return (blobs, senderID, seed)
        case .error(.authorization): throw AgentError(.linkGone, FailureReason.linkGone.sentence)
        case .error(let error): throw SMPError(error)
        default:
            throw SMPError(
                .malformed, "The messaging server sent an unexpected reply to a request for a link.")
        }
    }

    /// Creates a queue with links to it. Each call creates another one.
    func create(
        _ invitation: Invitation, tools: AgentTools
    ) async throws -> (state: ConnectionState, links: ConnectionLinks) {
        let isAddress = invitation.kind == .address
        var queue = ReceivingQueue.fresh(
            server: invitation.server, mode: isAddress ? .contact : .messaging, random: random)
        let correlationID = random.bytes(24)
        let senderID = Command.senderID(of: correlationID)
        var state = ConnectionState(
            phase: isAddress ? .address : .inviting, information: invitation.information, receiving: [])
        if !isAddress { state.offeredKeys = try tools.agreementKeys() }

        var made: (link: StoredLink, new: Command.NewLink)?
        if let data = invitation.linkData {
            // The link's data contains the queue's future address.
            var future = queue
            (future.senderID, future.status) = (senderID, .active)
            state.receiving = [future]
            made = try link(to: state, data: data, server: invitation.server)
        }
        let request = ClientRequest(
            try queue.creation(link: made?.new), key: .signing(try queue.authorization),
            timeout: times.interactiveAnswer, correlationID: correlationID)
        guard case .created(let ids) = try await answer(request, of: invitation.server) else {
            throw SMPError(.malformed, "The messaging server sent an unexpected reply to NEW.")
        }
        guard made == nil || ids.senderID == senderID else {
            throw SMPError(.malformed, "The messaging server created a different queue than requested.")
        }
        queue.created(ids)
        if var link = made?.link {
            if link.kind == .invitation { link.id = ids.linkID ?? [] }
            queue.link = link
        }
        state.receiving = [queue]
        guard let links = state.links else { throw AgentError.damagedState }
        return (state, links)
    }

    private func link(
        to state: ConnectionState, data: [UInt8], server: ServerAddress
    ) throws -> (StoredLink, Command.NewLink) {
        guard let request = state.request, let senderID = state.receiving.first?.senderID else {
            throw AgentError.damagedState
        }
        let kind: ShortLink.Kind = request.kind == .contact ? .contact : .invitation
        let root = SigningKey.generate(random: random)
        let (key, blobs) = try LinkData(request: request, userData: data).sealed(
            kind: kind, root: root, nonces: (random.bytes(24), random.bytes(24)))
        let id = kind == .invitation ? nil : ShortLink(kind: kind, server: server, key: key)?.id
        let stored = StoredLink(
            kind: kind, id: id ?? [], key: key, rootSeed: root.seed, fixed: blobs.fixed)
        return (stored, Command.NewLink(id: id, senderID: senderID, data: blobs))
    }

    /// Replaces the user data of the connection's short link (`LSET`).
    func setData(_ data: [UInt8], of state: ConnectionState) async throws {
        guard let queue = state.receiving.first, let link = queue.link, let request = state.request else {
            throw AgentError.notPossible("This connection has no short link (any more).")
        }
        let (_, blobs) = try LinkData(request: request, userData: data).sealed(
            kind: link.kind, root: try SigningKey(seed: link.rootSeed),
            nonces: (random.bytes(24), random.bytes(24)))
        let asked = ClientRequest(
            .linkSet(id: link.id, data: LinkBlobs(fixed: link.fixed, user: blobs.user)),
            of: queue.recipientID, key: .signing(try queue.authorization), timeout: times.interactiveAnswer)
        _ = try await answer(asked, of: queue.server)
    }

    private func answer(_ request: ClientRequest, of server: ServerAddress) async throws -> Answer {
        switch try await servers.ask(request, of: server) {
        case .error(let error): throw SMPError(error)
        case let answer: return answer
        }
    }
}

extension ConnectionState {
    /// Links to the connection while they are usable.
    var links: ConnectionLinks? {
        guard phase == .inviting || phase == .address, let request, let queue = receiving.first else {
            return nil
        }
        let short = queue.link.flatMap { link in
            ShortLink(
                kind: link.kind, server: queue.server, id: link.kind == .invitation ? link.id : nil,
                key: link.key)
        }
        return ConnectionLinks(full: request, short: short)
    }
}
