import Base
import Network
import SMP

/// Sends requests through proxies, and remembers the proxy session of each server.
final class PrivateRouter: Sendable {
    typealias Asking = @Sendable (ClientRequest, ServerAddress) async -> Result<Answer, SMPError>

    private struct Way: Sendable {
        let proxy: ServerAddress
        let session: ProxiedSession
    }

    let settings: PrivateRouting
    private let isProtected: Bool
    private let random: any RandomSource
    private let ways = Lock<[ServerAddress: Way]>([:])

    /// - Parameter isProtected: Whether a SOCKS proxy hides this machine's address.
    init(_ settings: PrivateRouting, isProtected: Bool, random: any RandomSource) {
        self.settings = settings
        self.isProtected = isProtected
        self.random = random
    }

    /// Sends a request through a proxy, or directly if that is permitted and no proxy reaches the server.
    /// - Parameter ask: Sends a request directly.
    func ask(
        _ request: ClientRequest, of server: ServerAddress, _ ask: Asking
    ) async -> Result<Answer, SMPError> {
        // A known session may have ended with the proxy's connection. Opens a new one once.
        for isKnown in [true, false] {
            let way: Way
            do throws(SMPError) {
                way = try await self.way(to: server, mayBeKnown: isKnown, ask)
            } catch {
                guard settings.mayAskDirectly(isProtected: isProtected) else { return .failure(error) }
                return await ask(request, server)
            }
            switch await self.ask(request, by: way, ask) {
            case .answered(let answer): return .success(answer)
            case .lost: forget(way, to: server)
            case .failed(let error):
                // Not repeated: the server may have performed the request. The next one may use another proxy.
                forget(way, to: server)
                return .failure(error)
            }
        }
        return .failure(
            SMPError(.unreachable, "The messaging server was not reached through another one."))
    }

    private enum Outcome {
        case answered(Answer)
        /// The proxy lost its connection to the server and forwarded nothing.
        case lost
        /// The proxy was unreachable, did not reach the server, or sent an invalid answer.
        case failed(SMPError)
    }

    private func ask(_ request: ClientRequest, by way: Way, _ ask: Asking) async -> Outcome {
        do throws(SMPError) {
            let wrapped = try way.session.wrap(request, random: random)
            switch try await ask(wrapped.outer, way.proxy).get() {
            case .forwarded(let box): return .answered(try way.session.open(box, of: wrapped))
            case .error(.proxy(Self.noSession)): return .lost
            case .error(let error): throw SMPError(error)
            default: throw SMPError(.malformed, "A proxy sent an invalid answer.")
            }
        } catch {
            return .failed(error)
        }
    }

    private func forget(_ way: Way, to server: ServerAddress) {
        ways.withLock { ways in
            if ways[server]?.proxy == way.proxy { ways[server] = nil }
        }
    }

    private static let noSession = "NO_SESSION"

    /// Returns the known session, or one from the first proxy that opens it.
    private func way(
        to server: ServerAddress, mayBeKnown: Bool, _ ask: Asking
    ) async throws(SMPError) -> Way {
        if mayBeKnown, let known = ways.withLock({ $0[server] }) { return known }
        var last = SMPError(.unreachable, "There is no other messaging server to reach this one through.")
        for proxy in settings.servers.filter({ $0 != server }).shuffled() {
            do throws(SMPError) {
                let way = Way(proxy: proxy, session: try await open(server, through: proxy, ask))
                ways.withLock { $0[server] = way }
                return way
            } catch {
                last = error
            }
        }
        throw last
    }

    private func open(
        _ server: ServerAddress, through proxy: ServerAddress, _ ask: Asking
    ) async throws(SMPError) -> ProxiedSession {
        let password = proxy.password.map { Array($0.utf8) }
        let request = ClientRequest(
            .proxy(to: server, password: password), timeout: ClientRequest.backgroundTimeout)
        switch try await ask(request, proxy).get() {
        case .proxyOpened(let found):
            do throws(NetworkError) {
                try IdentityCheck.verify(found.certificates, fingerprint: server.fingerprint)
            } catch {
                throw SMPError(
                    .wrongIdentity, "The messaging server is not the one that its address names.",
                    cause: error)
            }
            return try ProxiedSession(found)
        case .error(let error):
            throw SMPError(
                .unreachable, "No way leads to the messaging server through another one.",
                cause: SMPError(error))
        default: throw SMPError(.malformed, "A proxy sent an invalid answer.")
        }
    }
}
