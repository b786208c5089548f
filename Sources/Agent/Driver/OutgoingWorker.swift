import Base
import Posix
import Ratchet
import SMP

/// Sends the waiting messages of a connection in order. A message is sent only after its predecessor was
/// accepted by a server or given up.
struct OutgoingWorker: Sendable {
    let work: StoreWork
    let servers: any QueueServers
    let times: AgentTimes
    let peer: AgentSettings.Peer
    /// Starts the work that a transaction left.
    let follow: @Sendable (StepOutcome) -> Void

    /// The next step, already stored.
    private enum Next: Sendable {
        case nothing
        case secure(SendingQueue, for: StoredOutgoing)
        case send(StoredOutgoing, to: SendingQueue, body: [UInt8])
        /// The message could not be encrypted and was reported as failed.
        case skipped
        /// The first message waits for the peer.
        case waiting
    }

    func work(_ id: ConnectionID) async -> WorkOutcome {
        let prepared = await change("prepare next message") { [times] tables in
            (try Self.next(id, times, &tables), try tables.connections.reason(of: id))
        }
        guard let (next, reason) = prepared else { return .retry(times.store) }
        let peer = peer(id, reason)
        switch next {
        case .nothing: return .idle
        case .skipped: return .more
        case .waiting: return .later(times.lookAgain)
        case .secure(let queue, let item): return await secure(queue, for: item, of: id, by: peer)
        case .send(let item, let queue, let body):
            return await send(item, body: body, to: queue, of: id, by: peer)
        }
    }

    private func change<Result: Sendable>(
        _ step: String, _ body: @escaping @Sendable (inout AgentTables) throws -> Result
    ) async -> Result? {
        guard let (result, outcome) = await work.attempt(step, { try $0.change(body) }) else { return nil }
        follow(outcome)
        return result
    }

    // MARK: - Preparing

    private static func next(
        _ id: ConnectionID, _ times: AgentTimes, _ tables: inout AgentTables
    ) throws -> Next {
        guard try tables.connections.exists(id) else { return .nothing }
        guard let item = try tables.outgoing.head(of: id) else {
            try finishDeleting(id, &tables)
            return .nothing
        }
        let state = try tables.connections.load(id)
        guard let queue = state.present, !item.isUncertain, isReady(item, state, tables) else {
            return try wait(item, of: id, state, times, &tables)
        }
        guard queue.isSecured else { return .secure(queue, for: item) }
        var ready = item
        if ready.prepared == nil {
            do {
                let prepared = try tables.step(id) { try $0.prepare(item.kind, content: item.content) }
                try tables.outgoing.setPrepared(item.number, prepared, now: tables.now)
                ready.prepared = prepared
            } catch let error as RatchetError where error.code == .tooLong || error.code == .exhausted {
                try giveUp(item, error.code == .tooLong ? .tooLong : .exhausted, of: id, &tables)
                return .skipped
            }
        }
        guard let prepared = ready.prepared else { return .nothing }
        let isFirst = item.kind == .confirmation || item.kind == .request
        return .send(
            ready, to: queue,
            body: try queue.body(of: prepared.envelope, isFirst: isFirst, nonce: prepared.nonce))
    }

    /// Returns the next check of a message that waits for the peer, or gives it up. A connection being
    /// deleted waits only as long as for a server, and so does a message whose delivery is uncertain.
    private static func wait(
        _ item: StoredOutgoing, of id: ConnectionID, _ state: ConnectionState, _ times: AgentTimes,
        _ tables: inout AgentTables
    ) throws -> Next {
        let endsSoon = state.phase == .deleting || item.isUncertain
        let limit = endsSoon ? times.giveUp : times.giveUpWithoutKeys
        guard !(endsSoon || item.kind == .message) || !isOverdue(item, limit, now: tables.now) else {
            try giveUp(item, .withoutKeys, of: id, &tables)
            return .skipped
        }
        try tables.followLostKeys(of: id)
        // Before the connection is established, its events wake the lane.
        return item.waitsSince == nil ? .nothing : .waiting
    }

    private static func isReady(
        _ item: StoredOutgoing, _ state: ConnectionState, _ tables: AgentTables
    ) -> Bool {
        tables.machine(of: state).isReady(item.kind, isUrgent: item.isUrgent)
    }

    private static func isOverdue(_ item: StoredOutgoing, _ limit: Duration, now: ElapsedTime) -> Bool {
        item.waitsSince.map { $0.advanced(by: limit) < now } ?? false
    }

    /// Finishes the deletion of a connection without unsent messages.
    private static func finishDeleting(_ id: ConnectionID, _ tables: inout AgentTables) throws {
        let state = try tables.connections.load(id)
        guard state.phase == .deleting else { return }
        if state.receiving.isEmpty {
            try tables.removeConnection(id)
        } else if state.receiving.contains(where: { $0.status != .deleting }) {
            try tables.step(id) { $0.finishDeleting() }
        }
    }

    private static func giveUp(
        _ item: StoredOutgoing, _ reason: FailureReason, of id: ConnectionID, _ tables: inout AgentTables
    ) throws {
        try tables.outgoing.remove(item.number)
        if item.isBody { try tables.tell(.messageFailed(message: item.number, reason), of: id) }
        if item.kind == .confirmation || item.kind == .request { try tables.step(id) { $0.fail(reason) } }
    }

    /// Gives up all messages that have waited longer than `limit`; messages behind `item` waited for the same
    /// server. Keeps new keys and their proof: the peer would wait for them forever.
    /// - Returns: true if `item` itself was given up.
    private static func failOverdue(
        _ item: StoredOutgoing, _ limit: Duration, _ reason: FailureReason, of id: ConnectionID,
        _ tables: inout AgentTables
    ) throws -> Bool {
        guard isOverdue(item, limit, now: tables.now) else { return false }
        let keepsKeys = try tables.connections.load(id).phase != .deleting
        for item in try tables.outgoing.waiting(since: tables.now.advanced(by: .zero - limit), of: id)
        where !(keepsKeys && item.isForNewKeys) {
            try giveUp(item, reason, of: id, &tables)
        }
        return !(keepsKeys && item.isForNewKeys)
    }

    // MARK: - Asking

    private func secure(
        _ queue: SendingQueue, for item: StoredOutgoing, of id: ConnectionID, by peer: String?
    ) async -> WorkOutcome {
        // Its length was validated on load.
        guard let key = try? queue.authorization else { return .idle }
        let request = ClientRequest(
            .senderKey(key: key.publicKey), of: queue.address.senderID, key: .signing(key),
            timeout: times.answer, peer: peer)
        let outcome = await answer(request, of: queue.address.server)
        switch outcome {
        case .done:
            let isStored: Void? = await change("store secured queue") { tables in
                try tables.step(id) { $0.secured() }
            }
            return isStored == nil ? .retry(times.store) : .more
        case .gone: return await refused(queue, of: id)
        case .refused: return await gone(queue, .refused, of: id)
        case .full, .failed: return await failed(item, .failed, of: id)
        }
    }

    private func send(
        _ item: StoredOutgoing, body: [UInt8], to queue: SendingQueue, of id: ConnectionID, by peer: String?
    ) async -> WorkOutcome {
        let key: CommandKey? = queue.use == .request ? nil : (try? queue.authorization).map { .signing($0) }
        let request = ClientRequest(
            .send(flags: [UInt8(ascii: item.notifies ? "T" : "F")], body: body), of: queue.address.senderID,
            key: key, timeout: times.answer, peer: peer)
        let outcome = await answer(request, of: queue.address.server)
        switch outcome {
        case .done:
            let wasRefused = queue.refusals.count > 0
            let isStored: Void? = await change("store sent message") { tables in
                try Self.sent(item, of: id, &tables)
                if wasRefused, try tables.connections.exists(id) {
                    try tables.step(id) { $0.clearRefusals() }
                }
            }
            return isStored == nil ? .retry(times.store) : .more
        case .gone: return await refused(queue, of: id)
        case .refused, .full, .failed: return await failed(item, outcome, of: id)
        }
    }

    private static func sent(
        _ item: StoredOutgoing, of id: ConnectionID, _ tables: inout AgentTables
    ) throws {
        // The message may have been deleted or scheduled for re-encryption meanwhile.
        guard let stored = try tables.outgoing.item(item.number), stored.prepared == item.prepared else {
            return
        }
        try tables.sent(item, to: id)
    }

    /// Handles `ERR AUTH`: the queue does not exist or is secured with another key.
    private func refused(_ queue: SendingQueue, of id: ConnectionID) async -> WorkOutcome {
        let limit = Refusals.Limit(count: times.goneRefusals, duration: times.goneAfter)
        let isOver = await change("store refusal") { tables in
            guard try tables.connections.exists(id) else { return true }
            let now = tables.now
            return try tables.step(id) { $0.refused(queue.address.location, now: now, limit) }
        }
        guard let isOver else { return .retry(times.store) }
        return isOver ? .more : .retry(times.refusal)
    }

    private func gone(
        _ queue: SendingQueue, _ reason: FailureReason, of id: ConnectionID
    ) async -> WorkOutcome {
        let isStored: Void? = await change("store lost queue") { tables in
            guard try tables.connections.exists(id) else { return }
            try tables.step(id) { $0.queueGone(queue.address.location, reason: reason) }
        }
        return isStored == nil ? .retry(times.store) : .more
    }

    /// Decides whether to retry a message.
    private func failed(
        _ item: StoredOutgoing, _ outcome: Outcome, of id: ConnectionID
    ) async -> WorkOutcome {
        let times = times
        let isGivenUp = await change("store failed sending") { tables -> Bool in
            guard try tables.outgoing.item(item.number) != nil else { return true }
            let now = tables.now
            switch outcome {
            case .done, .gone: return true
            case .refused where item.isForNewKeys:
                return try Self.failOverdue(item, times.giveUp, .refused, of: id, &tables)
            case .refused: try Self.giveUp(item, .refused, of: id, &tables)
            case .full:
                if try tables.outgoing.setFull(item.number, now: now), item.isBody {
                    try tables.tell(.delayed(message: item.number, .queueFull), of: id)
                }
                return try Self.failOverdue(item, times.giveUpFull, .queueFull, of: id, &tables)
            case .failed: return try Self.failOverdue(item, times.giveUp, .expired, of: id, &tables)
            }
            return true
        }
        switch isGivenUp {
        case nil: return .retry(times.store)
        case true?: return .more
        case false?:
            if case .full = outcome { return .retry(times.fullQueue) }
            return .retry(times.network)
        }
    }

    // MARK: - Replies

    /// Meaning of a reply.
    private enum Outcome: Sendable {
        case done
        /// The queue does not exist or has another key (`ERR AUTH`).
        case gone
        case full
        case refused
        /// Temporary error, or unknown outcome.
        case failed
    }

    private func answer(_ request: ClientRequest, of server: ServerAddress) async -> Outcome {
        do throws(SMPError) {
            switch try await servers.ask(request, of: server) {
            case .error(.authorization): return .gone
            case .error(.quota): return .full
            case .error(let error): return error.isTemporary ? .failed : .refused
            default: return .done
            }
        } catch {
            return error.code == .tooLong ? .refused : .failed
        }
    }
}
