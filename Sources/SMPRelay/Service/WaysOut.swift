import Base
import Cryptography
import Network
import SMP
import SMPClient

/// Hands requests of clients on to other servers (PRXY, PFWD): those see this relay, and not who asks. What is handed on
/// this relay cannot read.
final class WaysOut: Sendable {
    private struct State {
        /// By the session with the server, which clients name.
        var servers: [[UInt8]: ServerAddress] = [:]
        /// In the order of their use; the connections to the first are closed when there are too many.
        var connections: [(server: ServerAddress, queues: QueueConnections)] = []
    }

    private let settings: MessageRelaySettings
    private let mayReach: @Sendable ([UInt8]) -> Bool
    private let state = Lock(State())

    /// nil: nothing is handed on.
    init?(_ settings: MessageRelaySettings) {
        guard case .to(let mayReach) = settings.handsOn else { return nil }
        self.settings = settings
        self.mayReach = mayReach
    }

    static func isAbout(_ command: Command) -> Bool {
        switch command {
        case .openProxy, .forward: true
        default: false
        }
    }

    /// Answers one of these commands.
    func answer(_ command: Command, _ transmission: Transmission) async -> Answer {
        do throws(ServerError) {
            switch command {
            case .openProxy(let server, let password): return try await open(server, password)
            case .forward(let version, let key, let box):
                return try await forward(version, key, box, transmission)
            default: throw .command(.prohibited)
            }
        } catch {
            return .error(error)
        }
    }

    private func open(_ server: ServerAddress, _ password: [UInt8]?) async throws(ServerError) -> Answer {
        if let own = settings.password {
            guard constantTimeEqual(Array(own.utf8), password ?? []) else { throw .proxy("BASIC_AUTH") }
        }
        do throws(SMPError) {
            let handing = try await connections(to: server).handing(to: server)
            state.withLock { $0.servers[handing.server.sessionID] = server }
            return .proxyOpened(handing.server)
        } catch {
            throw Self.refusal(error)
        }
    }

    private func forward(
        _ version: UInt16, _ key: [UInt8], _ box: [UInt8], _ transmission: Transmission
    ) async throws(ServerError) -> Answer {
        guard transmission.correlationID.count == Transmission.correlationLength else {
            throw .command(.syntax)
        }
        let known = state.withLock { state in
            state.servers[transmission.entityID].flatMap { server in
                state.connections.first { $0.server == server }
            }
        }
        guard let (server, queues) = known, let handing = await queues.currentHanding(to: server),
            handing.server.sessionID == transmission.entityID
        else {
            state.withLock { $0.servers[transmission.entityID] = nil }
            throw .proxy("NO_SESSION")
        }
        do throws(SMPError) {
            let request = handing.request(
                version: version, key: key, box: box, correlationID: transmission.correlationID,
                random: settings.random)
            switch try await queues.ask(request, of: server) {
            case .handedOn(let box):
                guard
                    let answer = handing.answer(
                        box, to: request, correlationID: transmission.correlationID)
                else { throw SMPError(.malformed, "A server's answer makes no sense.") }
                return answer
            case .error(let error): throw SMPError(error)
            default: throw SMPError(.malformed, "A server's answer makes no sense.")
            }
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Those to a server, which goes to the end of the line. Each has its own, so that none waits for another.
    private func connections(to server: ServerAddress) -> QueueConnections {
        let (found, dropped) = state.withLock { state -> (QueueConnections, QueueConnections?) in
            let index = state.connections.firstIndex { $0.server == server }
            let entry = index.map { state.connections.remove(at: $0) } ?? (server: server, queues: make())
            state.connections.append(entry)
            guard state.connections.count > settings.limits.otherServers else { return (entry.queues, nil) }
            let first = state.connections.removeFirst()
            state.servers = state.servers.filter { $0.value != first.server }
            return (entry.queues, first.queues)
        }
        if let dropped { Task { await dropped.close() } }
        return found
    }

    private func make() -> QueueConnections {
        var connecting = ConnectionSettings(random: settings.random)
        connecting.mayReach = mayReach
        return QueueConnections(connecting)
    }

    /// What clients are told of the other server.
    private static func refusal(_ error: SMPError) -> ServerError {
        switch error.code {
        case .server(let error): .proxy("PROTOCOL \(error.text)")
        case .unreachable: .proxy("BROKER NETWORK")
        case .timedOut: .proxy("BROKER TIMEOUT")
        case .wrongIdentity, .unsupportedVersion: .proxy("BROKER HOST")
        default: .proxy("NO_SESSION")
        }
    }

    func close() async {
        let all = state.withLock { state in
            defer { state = State() }
            return state.connections.map(\.queues)
        }
        for queues in all { await queues.close() }
    }
}
