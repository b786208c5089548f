import Base
import Network
import Posix
import SMP

/// The connections of one profile to messaging servers: one for each server, opened on demand, each on its own thread.
public final class QueueConnections: QueueServers {
    private struct State {
        var connections: [ServerAddress: ServerConnection] = [:]
        var isClosed = false
        var isSuspended = false
        var watch: NetworkWatch?
    }

    private let settings: ConnectionSettings
    private let router: PrivateRouter
    private let mailbox: EventMailbox
    private let serverOutages = ServerOutages()
    private let state = Lock(State())

    /// The maximum number of messages per server that wait for the listener: 2 MiB.
    static let waitingMessages = 128

    public init(_ settings: ConnectionSettings) {
        self.settings = settings
        router = PrivateRouter(
            settings.routing, isProtected: settings.proxy != nil, random: settings.random)
        mailbox = EventMailbox(capacity: Self.waitingMessages)
    }

    /// Without `close`, the owner waits for nothing.
    deinit {
        for connection in state.withLock({ $0.connections.values }) { connection.end() }
        mailbox.finish()
    }

    // MARK: QueueServers

    public func ask(_ request: ClientRequest, of server: ServerAddress) async throws(SMPError) -> Answer {
        try await ask([request], of: server)[0].get()
    }

    public func ask(
        _ requests: [ClientRequest], of server: ServerAddress
    ) async -> [Result<Answer, SMPError>] {
        if let refusal = refusal(of: requests, to: server) { return requests.map { _ in .failure(refusal) } }
        guard requests.contains(where: { router.settings.routes($0, to: server) }) else {
            return await askDirectly(requests, of: server)
        }
        return await withTaskGroup(of: (Int, Result<Answer, SMPError>).self) { group in
            for (index, request) in requests.enumerated() {
                group.addTask { (index, await self.askByItsWay(request, of: server)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Returns the reason for refusing a server that a peer named: the peer named too many, or the server is in the own
    /// network.
    private func refusal(of requests: [ClientRequest], to server: ServerAddress) -> SMPError? {
        let connection = state.withLock { $0.connections[server] }
        let isKnown = connection.map { $0.isOwn || $0.isEstablished } ?? false
        let isRouted = requests.contains { router.settings.routes($0, to: server) }
        if isRouted, !settings.policy.isChosen(server.places),
            server.hosts.contains(where: { !settings.policy.mayReach(host: $0) })
        {
            return Admission(server, isOwn: isKnown, settings: settings).refusal
        }
        guard let peer = requests.lazy.compactMap(\.peer).first, !isKnown,
            let delay = settings.policy.delay(before: server.places, for: peer)
        else { return nil }
        return SMPError(
            .notAllowed,
            "A peer named too many servers; the next attempt is possible in \(delay.components.seconds + 1) seconds."
        )
    }

    private func askByItsWay(
        _ request: ClientRequest, of server: ServerAddress
    ) async -> Result<Answer, SMPError> {
        guard router.settings.routes(request, to: server) else {
            return await askDirectly([request], of: server)[0]
        }
        return await router.ask(request, of: server) { await self.askDirectly([$0], of: $1)[0] }
    }

    private func askDirectly(
        _ requests: [ClientRequest], of server: ServerAddress
    ) async -> [Result<Answer, SMPError>] {
        guard !requests.isEmpty else { return [] }
        return await withCheckedContinuation { continuation in
            let answers = AwaitedAnswers(requests.count) { continuation.resume(returning: $0) }
            let entries = requests.enumerated().map { index, request in
                ServerConnection.Entry(request: request) { answers.set($0, at: index) }
            }
            do throws(SMPError) {
                while true {
                    let connection = try self.connection(to: server)
                    if connection.ask(entries) { return }
                    // It was retired just now and is about to be removed.
                    forget(connection)
                }
            } catch {
                for entry in entries { entry.answer(.failure(error)) }
            }
        }
    }

    /// Returns the forwarding state of a server, after connecting if needed.
    /// - Throws: as `ask`.
    public func handing(to server: ServerAddress) async throws(SMPError) -> HandingOn {
        let connection = try connection(to: server)
        if let handing = connection.handing { return handing }
        _ = try await ask(ClientRequest(.ping), of: server)
        guard let handing = connection.handing else {
            throw SMPError(.disconnected, "The connection to the messaging server broke off.")
        }
        return handing
    }

    /// Returns the forwarding state of the current connection, or nil if there is none.
    public func currentHanding(to server: ServerAddress) async -> HandingOn? {
        state.withLock { $0.connections[server] }?.handing
    }

    public var events: AsyncStream<QueueServerEvent> {
        AsyncStream { [mailbox, weak self] in
            guard let next = await mailbox.next() else { return nil }
            if let server = next.starved { self?.hasRoom(server) }
            return next.event
        }
    }

    /// The number of messages that the listener has not taken.
    var waitingMessages: Int { mailbox.messageCount }

    private func hasRoom(_ server: ServerAddress) {
        state.withLock { $0.connections[server] }?.hasRoom()
    }

    private func connection(to server: ServerAddress) throws(SMPError) -> ServerConnection {
        try state.withLock { state throws(SMPError) in
            if state.isClosed { throw ServerConnection.closed }
            if let known = state.connections[server] { return known }
            do throws(SystemError) {
                let made = try ServerConnection(
                    server, settings: settings, mailbox: mailbox, isSuspended: state.isSuspended,
                    outages: serverOutages, whenForgotten: { [weak self] in self?.forget($0) })
                state.connections[server] = made
                return made
            } catch {
                throw .exhausted(error)
            }
        }
    }

    private func forget(_ connection: ServerConnection) {
        state.withLock { state in
            guard state.connections[connection.server] === connection else { return }
            state.connections[connection.server] = nil
        }
    }

    /// The unreachable servers, the earliest failure first.
    public var outages: [ServerOutage] { serverOutages.current }

    /// The servers with requests or subscriptions.
    var serverCount: Int { state.withLock { $0.connections.count } }

    /// The number of connected servers.
    public var establishedCount: Int {
        state.withLock { Array($0.connections.values) }.count { $0.isEstablished }
    }

    // MARK: Life cycle

    /// Closes all connections and opens none until `resume`; requests wait. Listeners get `disconnected`, and
    /// `connected` after `resume`.
    public func suspend() {
        for connection in setSuspended(true) { connection.suspend() }
    }

    public func resume() {
        for connection in setSuspended(false) { connection.resume() }
    }

    private func setSuspended(_ isSuspended: Bool) -> [ServerConnection] {
        state.withLock { state in
            state.isSuspended = isSuspended
            return Array(state.connections.values)
        }
    }

    /// Watches the network and checks connections after each change. Call once.
    public func followNetwork(_ changed: @escaping @Sendable () -> Void) {
        // Without system resources for that, failed servers are retried at their usual times.
        let watch = try? NetworkWatch { [weak self] in
            self?.networkChanged()
            changed()
        }
        state.withLock { $0.watch = watch }
    }

    /// Notes a network change: waiting servers are retried at once.
    public func networkChanged() {
        for connection in state.withLock({ Array($0.connections.values) }) { connection.networkChanged() }
    }

    /// Closes all connections, fails pending requests with `disconnected`, ends the events, and returns after all
    /// threads have ended. Later requests fail.
    public func close() async {
        let connections = state.withLock { state in
            state.isClosed = true
            state.watch?.end()
            state.watch = nil
            return Array(state.connections.values)
        }
        for connection in connections { await connection.close() }
        mailbox.finish()
    }
}

/// Collects the answers to several requests.
private final class AwaitedAnswers: Sendable {
    private let state: Lock<(answers: [Result<Answer, SMPError>?], missing: Int)>
    private let whenComplete: @Sendable ([Result<Answer, SMPError>]) -> Void

    init(_ count: Int, whenComplete: @escaping @Sendable ([Result<Answer, SMPError>]) -> Void) {
        state = Lock((Array(repeating: nil, count: count), count))
        self.whenComplete = whenComplete
    }

    /// Each is set once.
    func set(_ answer: Result<Answer, SMPError>, at index: Int) {
        let complete = state.withLock { state -> [Result<Answer, SMPError>]? in
            precondition(state.answers[index] == nil, "a request is answered once")
            state.answers[index] = answer
            state.missing -= 1
            return state.missing == 0 ? state.answers.compactMap(\.self) : nil
        }
        if let complete { whenComplete(complete) }
    }
}
