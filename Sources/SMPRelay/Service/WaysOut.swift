import Base
import Cryptography
import Network
import SMP
import SMPClient

/// Forwards clients' requests to other servers (PRXY, PFWD), which see this relay instead of the client. This relay
/// cannot read the forwarded requests.
final class WaysOut: Sendable {
    private let settings: MessageRelaySettings
    private let policy: OutboundPolicy
    private let ways: Lock<Ways>

    /// Returns nil if forwarding is disabled.
    init?(_ settings: MessageRelaySettings) {
        guard case .to(let policy) = settings.handsOn else { return nil }
        self.settings = settings
        self.policy = policy
        ways = Lock(Ways(limit: settings.limits.otherServers, limitOfClient: settings.limits.waysOut))
    }

    static func isAbout(_ command: Command) -> Bool {
        switch command {
        case .proxy, .proxyForward: true
        default: false
        }
    }

    /// Performs PRXY or PFWD without blocking. A requested connection belongs to the client when this returns, so a
    /// later `release` includes it.
    func perform(
        _ request: Request, of client: UInt64, at peer: PeerAddress,
        tell: @escaping @Sendable (Answer) -> Void
    ) {
        switch request.command {
        case .proxy(let server, let password):
            do throws(ServerError) {
                let queues = try begin(server, password, client, peer)
                Task { tell(await open(server, queues)) }
            } catch {
                tell(.error(error))
            }
        case .proxyForward(let version, let key, let box):
            Task {
                do throws(ServerError) {
                    tell(try await forward(version, key, box, request))
                } catch {
                    tell(.error(error))
                }
            }
        default: tell(.error(.command(.prohibited)))
        }
    }

    /// Releases the connections of a client that has gone.
    func release(_ client: UInt64) { ways.withLock { $0.release(client) } }

    private func begin(
        _ server: ServerAddress, _ password: [UInt8]?, _ client: UInt64, _ peer: PeerAddress
    ) throws(ServerError) -> QueueConnections {
        if let own = settings.password {
            guard constantTimeEqual(Array(own.utf8), password ?? []) else { throw .proxy("BASIC_AUTH") }
        }
        guard policy.delay(before: server.places, for: "\(peer)") == nil else { throw Self.noRoom }
        let (queues, outcome) = ways.withLock { $0.begin(server, of: client, make: make) }
        close(outcome.dropped)
        guard outcome.isThere else { throw Self.noRoom }
        return queues
    }

    private func open(_ server: ServerAddress, _ queues: QueueConnections) async -> Answer {
        do throws(SMPError) {
            let handing = try await queues.handing(to: server)
            let outcome = ways.withLock { $0.opened(queues, session: handing.server.sessionID) }
            close(outcome.dropped)
            return outcome.isThere ? .proxyOpened(handing.server) : .error(Self.noRoom)
        } catch {
            close(ways.withLock { $0.failed(queues) })
            return .error(Self.refusal(error))
        }
    }

    /// Too many connections are in use, or the client asked for too many.
    private static let noRoom = ServerError.proxy("BROKER NETWORK")

    private func close(_ queues: QueueConnections?) {
        if let queues { Task { await queues.close() } }
    }

    private func forward(
        _ version: UInt16, _ key: [UInt8], _ box: [UInt8], _ asked: Request
    ) async throws(ServerError) -> Answer {
        guard asked.correlationID.count == Transmission.correlationLength else {
            throw .command(.syntax)
        }
        guard let way = ways.withLock({ $0.use(asked.entityID) }) else { throw .proxy("NO_SESSION") }
        let (server, queues) = (way.server, way.queues)
        defer { ways.withLock { _ = $0.ended(queues) } }
        guard let handing = await queues.currentHanding(to: server),
            handing.server.sessionID == asked.entityID
        else { throw .proxy("NO_SESSION") }
        do throws(SMPError) {
            let request = handing.request(
                version: version, key: key, box: box, correlationID: asked.correlationID,
                random: settings.random)
            switch try await queues.ask(request, of: server) {
            case .handedOn(let box):
                guard
                    let answer = handing.answer(
                        box, to: request, correlationID: asked.correlationID)
                else { throw SMPError(.malformed, "A server's answer is invalid.") }
                return answer
            case .error(let error): throw SMPError(error)
            default: throw SMPError(.malformed, "A server's answer is invalid.")
            }
        } catch {
            throw Self.refusal(error)
        }
    }

    private func make() -> QueueConnections {
        QueueConnections(ConnectionSettings(policy: policy, random: settings.random))
    }

    /// Maps an error of the other server to the client's error.
    private static func refusal(_ error: SMPError) -> ServerError {
        switch error.code {
        case .server(let error): .proxy("PROTOCOL \(error.text)")
        case .unreachable, .notAllowed: .proxy("BROKER NETWORK")
        case .timedOut: .proxy("BROKER TIMEOUT")
        case .wrongIdentity, .unsupportedVersion: .proxy("BROKER HOST")
        default: .proxy("NO_SESSION")
        }
    }

    func close() async {
        let all = ways.withLock { $0.ways.map(\.queues) }
        for queues in all { await queues.close() }
    }
}
