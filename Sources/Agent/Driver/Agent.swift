import Base
import Cryptography
import Posix
import Ratchet
import SMP
import Store

/// The connections of a profile, stored in one database. Implements `ConnectionAgent`.
public final class Agent: ConnectionAgent {
    private let store: AgentStore
    private let work: StoreWork
    private let tools: AgentTools
    private let settings: AgentSettings
    private let queueServers: Lock<[ServerAddress]>
    private let links: LinkResolver
    private let traffic: AgentTraffic
    private let feed: EventFeed

    /// Opens or creates the database. Blocks. Contacts no server before `start`.
    /// - Parameters:
    ///   - path: database path. No other agent may use the database at the same time.
    ///   - key: database key, 32 bytes; nil stores it unencrypted.
    ///   - servers: connections for this agent alone.
    ///   - kem: nil if it is not installed.
    ///   - clock: time source of all expiry.
    /// - Throws: the errors of `Database`.
    public init(
        path: String, key: SecretBytes?, servers: any QueueServers, settings: AgentSettings,
        random: any RandomSource = SystemRandomSource(), kem: (any KEM)? = nil,
        clock: any BootClock = SystemBootClock(), pool: ThreadPool = .shared
    ) throws(StoreError) {
        let isPostQuantum = settings.postQuantum && kem != nil
        let log = Log("agent")
        tools = AgentTools(
            ratchet: RatchetTools(random: random, kem: kem),
            settings: RatchetSettings(postQuantum: isPostQuantum))
        store = try AgentStore(path: path, key: key, tools: tools, clock: clock)
        work = StoreWork(store: store, pool: pool, log: log)
        self.settings = settings
        queueServers = Lock(settings.servers)
        links = LinkResolver(work: work, servers: servers, times: settings.times, random: random)
        feed = EventFeed(work)
        traffic = AgentTraffic(work: work, servers: servers, settings: settings, log: log, feed: feed)
    }

    /// Subscribes to all queues and resumes unfinished work.
    /// - Parameters:
    ///   - event: number of the last event that the application has processed. New events get higher numbers,
    ///     even if that event came from another database.
    ///   - isRestored: whether the database is an old copy. Every connection then agrees on new keys before
    ///     it sends.
    /// - Throws: `.store`, `.stopped`.
    public func start(after event: Int64 = 0, isRestored: Bool = false) async throws(AgentError) {
        let (damaged, unfinished) = try await run { store in
            try store.change { tables in
                var damaged = 0
                try tables.events.begin(after: event)
                // Subscribe again to queues that another program took over; it may have ended. Other
                // connections are not loaded, as there may be very many.
                let now = tables.now
                for id in try isRestored ? tables.connections.all() : tables.queues.takenOver() {
                    do {
                        try tables.step(id) { machine in
                            for place in machine.state.receiving.indices { machine.isReceivingAgain(place) }
                            if isRestored { try machine.restored(now: now) }
                        }
                    } catch let error as AgentError where error.code == .damaged {
                        // A damaged connection cannot be resynchronised; the log reports the number of them.
                        damaged += 1
                    }
                }
                try tables.goOn()
                return damaged
            }
        }
        if damaged > 0 {
            work.log.warning(
                "damaged connections skipped: count=\(damaged)"
            )
        }
        traffic.start(with: unfinished)
    }

    /// Waits until every sendable message is on its server, at most until `end`.
    /// - Returns: true if no sendable message is left.
    @discardableResult
    public func finishSending(until end: ContinuousClock.Instant) async -> Bool {
        await traffic.finishSending(until: end)
    }

    /// Waits until every reachable server was read and all events so far are acknowledged, at most until
    /// `end`.
    public func receiveWaiting(until end: ContinuousClock.Instant) async {
        await traffic.receiveWaiting(until: end)
        while ContinuousClock.now < end, isRunning {
            // Stop waiting if the database cannot be read; `attempt` logs the failure.
            let waiting = await work.attempt("read unacknowledged events") { store in
                try store.read { try $0.events.events(after: 0, limit: 1) }
            }
            guard let waiting, !waiting.isEmpty else { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Stops the agent after the current transaction. Commands under way with servers are repeated after the
    /// next start. Later calls fail with `.stopped`.
    public func stop() async {
        traffic.stop()
        await feed.finish()
        let store = store
        await work.pool.run { store.close() }
    }

    /// Stops between two transactions, as SIGKILL would. Blocks. For tests.
    func endAtOnce() {
        traffic.stop()
        store.close()
    }

    /// Number of delivered messages that are not stored yet, over all queues.
    var waitingMessages: Int { traffic.waitingMessages }

    /// Number of queues with a current subscription.
    var subscribedQueues: Int { traffic.subscribedQueues }

    /// False after `stop`.
    var isRunning: Bool { !store.isClosed }

    /// Replaces the servers that new queues of joined links are created on.
    public func setServers(_ servers: [ServerAddress]) { queueServers.withLock { $0 = servers } }

    /// Retries all waiting work at once, because the network may be back.
    public func networkChanged() { traffic.hurry() }

    public var events: AsyncStream<AgentEvent> {
        let feed = feed
        return AsyncStream { await feed.next() }
    }

    // MARK: - Steps

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (AgentStore) throws -> Result
    ) async throws(AgentError) -> Result {
        do {
            return try await work.run(body)
        } catch {
            throw meaning(of: error)
        }
    }

    /// Converts an error for the caller. A closed database or an unreachable server means `.stopped` after
    /// `stop`.
    private func meaning(of error: any Error) -> AgentError {
        let meaning = AgentError(wrapping: error)
        let mayBeTheEnd = meaning.code == .store || meaning.code == .serverUnreachable
        guard mayBeTheEnd, store.isClosed else { return meaning }
        return AgentError(.stopped, AgentError.stopped.sentence, cause: error)
    }

    /// Runs a read-only transaction.
    func stored<Result: Sendable>(
        _ body: @escaping @Sendable (AgentTables) throws -> Result
    ) async throws(AgentError) -> Result {
        try await run { try $0.read(body) }
    }

    /// Runs a transaction and follows its outcome.
    private func change<Result: Sendable>(
        _ body: @escaping @Sendable (inout AgentTables) throws -> Result
    ) async throws(AgentError) -> Result {
        let (result, outcome) = try await run { try $0.change(body) }
        traffic.follow(outcome)
        return result
    }

    private func asking<Result: Sendable>(
        _ body: () async throws -> Result
    ) async throws(AgentError) -> Result {
        do {
            return try await body()
        } catch {
            throw meaning(of: error)
        }
    }

    /// Picks a server for a queue of this side, if possible none of `others`.
    private func ownServer(besides others: [ServerAddress]) throws(AgentError) -> ServerAddress {
        let known = queueServers.withLock { $0 }
        let preferred = known.filter { server in !others.contains { $0.fingerprint == server.fingerprint } }
        guard let server = preferred.randomElement() ?? known.randomElement() else {
            throw AgentError.notPossible("There is no messaging server in the settings: add one.")
        }
        return server
    }

    private func check(_ bytes: [UInt8], _ limit: Int) throws(AgentError) {
        guard bytes.count <= limit else { throw .tooLong }
    }

    private var informationLimit: Int {
        tools.settings.postQuantum ? AgentLimits.postQuantumInformation : AgentLimits.information
    }
}

// MARK: - Making connections

extension Agent {
    public func invite(
        _ invitation: Invitation
    ) async throws(AgentError) -> (connection: ConnectionID, links: ConnectionLinks) {
        try check(invitation.information, informationLimit)
        try check(invitation.linkData ?? [], AgentLimits.linkData)
        let (links, tools) = (links, tools)
        let made = try await asking { try await links.create(invitation, tools: tools) }
        let id = try await change { try $0.insert(made.state, reason: invitation.reason) }
        return (id, made.links)
    }

    public func open(link: String) async throws(AgentError) -> OpenedLink {
        let links = links
        let target = try await asking { try await links.resolve(LinkResolver.Link(link), for: nil) }
        let connection = try await stored { try $0.joined(with: target.hash) }
        return OpenedLink(
            kind: target.request.kind == .contact ? .address : .oneTime, linkData: target.linkData,
            connection: connection)
    }

    public func join(
        link: String, information: [UInt8], confirmation: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID {
        try check(information, informationLimit)
        try check(confirmation, informationLimit)
        let links = links
        let parsed = try await asking { try LinkResolver.Link(link) }
        let known = try await stored { try $0.joined(with: parsed.hash) }
        if let known { return known }
        let peer = settings.peer(nil, reason)
        let target = try await asking { try await links.resolve(parsed, for: peer) }
        let server = try ownServer(besides: target.request.queues.map(\.address.server))
        let tools = tools
        return try await change { tables in
            if let known = try tables.joined(with: target.hash) { return known }
            // Reuse the sender key of a failed attempt: the link's queue accepts no other.
            if let failed = try tables.connections.joined(linkHash: target.hash) {
                try tables.connections.forgetLink(of: failed)
            }
            guard target.request.kind == .contact else {
                let seed = try tables.links.seed(
                    ofLink: target.hash, fresh: tools.random.bytes(32), now: tables.now)
                let state = try ConnectionMachine.joining(
                    target.request, server: server, information: information,
                    key: JoiningKey(seed: seed, isSecured: target.seed != nil), tools: tools)
                return try tables.insert(state, linkHash: target.hash, reason: reason)
            }
            let state = try ConnectionMachine.requesting(
                target.request, server: server, confirmation: confirmation, tools: tools)
            let id = try tables.insert(state, linkHash: target.hash, reason: reason)
            try tables.send(
                .introduction(.request, information), isBody: false, to: id)
            return id
        }
    }

    public func accept(
        _ request: ContactRequestID, information: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID {
        try check(information, informationLimit)
        let found = try await stored { try $0.links.request(request)?.link }
        guard let found else { throw .noSuchRequest }
        let invitation = try await asking { try ConnectionRequest(link: found) }
        let server = try ownServer(besides: invitation.queues.map(\.address.server))
        let tools = tools
        return try await change { tables in
            // Bounds the number of connections from requesters that never answer.
            try tables.failUnansweredHandshakes()
            guard let stored = try tables.links.request(request) else { throw AgentError.noSuchRequest }
            var key = JoiningKey(seed: tools.random.bytes(32))
            if let accepted = stored.accepted {
                let known = try tables.connections.load(accepted)
                guard known.phase == .failed || known.phase == .deleting else { return accepted }
                // The earlier attempt failed. The requester's queue may have its key and accepts no other.
                if let seed = known.present?.authorizationSeed { key.seed = seed }
            }
            let state = try ConnectionMachine.joining(
                invitation, server: server, information: information,
                key: key, tools: tools)
            let id = try tables.insert(state, reason: reason)
            try tables.links.setAccepted(request, by: id)
            return id
        }
    }

    public func reject(_ request: ContactRequestID) async throws(AgentError) {
        let wasThere = try await change { try $0.links.remove(request) }
        guard wasThere else { throw .noSuchRequest }
    }
}

// MARK: - Using connections

extension Agent {
    public func send(
        _ body: [UInt8], to connection: ConnectionID, notifies: Bool, identifier: [UInt8]?
    ) async throws(AgentError) -> Int64 {
        try check(body, tools.settings.postQuantum ? AgentLimits.postQuantumBody : AgentLimits.body)
        guard !body.isEmpty else { throw .notPossible("An empty message cannot be sent.") }
        guard identifier.map({ (1...64).contains($0.count) }) ?? true else {
            throw .notPossible("A message's identifier has one to 64 bytes.")
        }
        return try await change { tables in
            if let identifier,
                let known = try tables.outgoing.number(ofIdentifier: identifier, in: connection)
            {
                return known
            }
            let state = try tables.connections.load(connection)
            switch state.phase {
            case .address: throw AgentError.notPossible("Nothing can be sent to an address of one's own.")
            case .failed: throw AgentError.notMade
            case .deleting: throw AgentError.beingDeleted
            case .connected where state.present?.isGone != false: throw AgentError.ended
            case .inviting, .joining, .requesting, .confirming, .connected: break
            }
            let number = try tables.send(
                .message(.body(body), notifies: notifies), isBody: true, to: connection)
            if let identifier {
                try tables.outgoing.remember(
                    identifier: identifier, number: number, in: connection, now: tables.now)
            }
            return number
        }
    }

    public func acknowledge(event number: Int64, withReceipt: Bool) async throws(AgentError) {
        try await change { tables in
            guard let material = try tables.events.take(number), withReceipt,
                try tables.connections.exists(material.connection)
            else { return }
            let state = try tables.connections.load(material.connection)
            guard state.phase == .connected, state.present?.isGone == false else { return }
            try tables.send(.message(.receipts([material.receipt])), isBody: false, to: material.connection)
        }
    }

    public func setLinkData(_ data: [UInt8], of connection: ConnectionID) async throws(AgentError) {
        try check(data, AgentLimits.linkData)
        let links = links
        let state = try await stored { try $0.connections.load(connection) }
        try await asking { try await links.setData(data, of: state) }
    }

    public func delete(_ connection: ConnectionID, afterSending: Bool) async throws(AgentError) {
        try await change { tables in
            do {
                try tables.step(connection) { $0.delete(afterSending: afterSending) }
            } catch let error as AgentError where error.code == .damaged {
                // The peer cannot be told; the servers expire the queues.
                try tables.removeConnection(connection)
            }
        }
    }

    public func security(of connection: ConnectionID) async throws(AgentError) -> ConnectionSecurity? {
        let isPossible = tools.settings.postQuantum
        return try await run { store in
            try store.read {
                try $0.connections.load(connection).ratchet.map { ratchet in
                    ConnectionSecurity(
                        code: SecurityCode.text(ratchet.securityHash),
                        isPostQuantum: ratchet.isPostQuantum == (true, true),
                        isPostQuantumPossible: isPossible)
                }
            }
        }
    }

    public func requireSecurity(
        _ code: String?, of connection: ConnectionID
    ) async throws(AgentError) {
        try await change { try $0.step(connection) { $0.requireSecurity(code) } }
    }

    public func rotate(_ connection: ConnectionID, to server: ServerAddress?) async throws(AgentError) {
        try await change { try $0.step(connection) { try $0.rotate(to: server) } }
    }

    public func move(
        _ connection: ConnectionID, toOneOf servers: [ServerAddress]
    ) async throws(AgentError) {
        try await change { try $0.step(connection) { try $0.move(toOneOf: servers) } }
    }

    public func resynchronise(_ connection: ConnectionID) async throws(AgentError) {
        try await change { tables in
            let now = tables.now
            let areSent = try !tables.outgoing.hasKeyMessages(of: connection)
            try tables.step(connection) { try $0.synchronise(now: now, areSent: areSent) }
        }
    }

    public func overview(
        after id: ConnectionID, count: Int
    ) async throws(AgentError) -> [ConnectionOverview] {
        try await run { store in
            try store.read { tables in
                try tables.connections.all(after: id, count: count).map { id in
                    ConnectionOverview(
                        id: id, phase: try tables.connections.usable(id)?.phase,
                        servers: try tables.queues.servers(of: id))
                }
            }
        }
    }

    /// Returns the number of messages that no server has accepted yet, by connection. Connections without
    /// such messages are omitted.
    /// - Throws: `.store`, `.stopped`.
    public func waitingMessageCounts() async throws(AgentError) -> [ConnectionID: Int] {
        try await run { store in try store.read { try $0.outgoing.bodyCounts() } }
    }

    public func connections(
        in phase: ConnectionCondition.Phase
    ) async throws(AgentError) -> [ConnectionID] {
        try await run { store in try store.read { tables in try tables.connections.all(in: phase) } }
    }

    public func connections() async throws(AgentError) -> [ConnectionSummary] {
        try await run { store in
            try store.read { tables in
                try tables.connections.all().compactMap { id in
                    guard let state = try tables.connections.usable(id) else { return nil }
                    return ConnectionSummary(
                        id: id, condition: state.condition, links: state.links,
                        servers: state.receiving.filter { $0.status == .active }.map(\.server))
                }
            }
        }
    }
}
