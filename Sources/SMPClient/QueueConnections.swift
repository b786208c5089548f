import Base
import Network
import Posix
import SMP

/// The connections of one profile to messaging servers: one for each server, made when it is asked something, each on
/// a thread of its own.
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

    /// Messages that may wait for the listener, for each server: 2 MiB.
    static let waitingMessages = 128

    public init(_ settings: ConnectionSettings) {
        self.settings = settings
        router = PrivateRouter(
            settings.routing, isProtected: settings.proxy != nil, random: settings.random)
        mailbox = EventMailbox(capacity: Self.waitingMessages)
    }

    /// Whoever drops it without `close` has nothing to wait for.
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

    /// Why a server is not asked now that somebody else named: they have named too many, or its address says that it is
    /// inside.
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
            "A peer has named many servers: this one is asked in \(delay.components.seconds + 1) seconds at the earliest."
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
                    // It has ended just now, and is about to be gone.
                    forget(connection)
                }
            } catch {
                for entry in entries { entry.answer(.failure(error)) }
            }
        }
    }

    /// How requests of others are handed on to a server, over the connection that there is or is made now.
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

    /// The same over the connection that there is; nil: there is none.
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

    /// Messages that were not taken by the listener.
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

    /// Servers to which no connection can be made at present, those that failed first in front.
    public var outages: [ServerOutage] { serverOutages.current }

    /// Servers that something is asked of, or that messages are to come from.
    var serverCount: Int { state.withLock { $0.connections.count } }

    // MARK: Its life

    /// Closes all connections, and makes none until `resume`: what is asked has no answer until then. Who has subscribed
    /// is told as if the servers were gone, and again when they are there.
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

    /// Looks after connections whenever the network is another one, and tells of it. To be called once.
    public func followNetwork(_ changed: @escaping @Sendable () -> Void) {
        // Where the system has no more of what that needs, what failed is tried again in its time.
        let watch = try? NetworkWatch { [weak self] in
            self?.networkChanged()
            changed()
        }
        state.withLock { $0.watch = watch }
    }

    /// The network is another one, or is there again: whoever waits to try again does so at once.
    public func networkChanged() {
        for connection in state.withLock({ Array($0.connections.values) }) { connection.networkChanged() }
    }

    /// Closes all connections, answers what is open with `disconnected`, ends the events, and returns when no thread is
    /// left. Nothing can be asked any more.
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

/// Answers to several requests, until all are there.
private final class AwaitedAnswers: Sendable {
    private let state: Lock<(answers: [Result<Answer, SMPError>?], missing: Int)>
    private let whenComplete: @Sendable ([Result<Answer, SMPError>]) -> Void

    init(_ count: Int, whenComplete: @escaping @Sendable ([Result<Answer, SMPError>]) -> Void) {
        state = Lock((Array(repeating: nil, count: count), count))
        self.whenComplete = whenComplete
    }

    /// Each once.
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
