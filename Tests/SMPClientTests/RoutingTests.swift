import Base
import Cryptography
import Network
import TestSupport
import Testing

@testable import SMP
@testable import SMPClient

@Suite("Private routing")
struct RoutingTests {
    /// A server that answers requests from a proxy and records its clients.
    private final class Far: Sendable {
        let identity: ServerIdentity
        let address: ServerAddress
        let key = AgreementKey.generate()
        let sessionID = SystemRandomSource().bytes(32)

        init() throws {
            identity = try NewServerIdentity.make(.ed25519, hostName: "far").identity
            address = try #require(
                ServerAddress(fingerprint: identity.fingerprint, hosts: ["far.invalid"], port: 5223))
        }

        func hello() throws -> ProxiedServer {
            ProxiedServer(
                sessionID: sessionID, versions: 8...16, certificates: identity.certificates,
                signedKey: SignedKey.encode(
                    key: key.publicKey, algorithmIdentifier: identity.kind.algorithmIdentifier,
                    signature: try identity.sign(SignedKey.bytesToSign(for: key.publicKey))))
        }

        /// Seals the server's half of an exchange.
        func answer(_ command: Command, to request: ClientRequest, with answer: Answer) throws -> [UInt8] {
            guard case .proxyForward(let version, let key, let box) = request.command else {
                throw WaitedInVain("a forwarded request")
            }
            let (secret, nonce) = (try self.key.wipedSecret(with: key), request.correlationID ?? [])
            let content = try #require(MessageBox.openPadded(box, key: secret, nonce: nonce))
            let inner = try #require(
                Batch.decode(content)?.first.flatMap { Transmission(decoding: $0, version: version) })
            #expect(version == 16)
            #expect(request.entityID == sessionID)
            #expect(Command(decoding: inner.body, version: version) == command)
            #expect(inner.correlationID == nonce)
            let reply = Transmission(
                correlationID: nonce, entityID: inner.entityID, body: answer.encoded(version: version))
            return try #require(
                MessageBox.seal(
                    Batch.encode([reply.encoded(version: version)]), paddedTo: 16_226, key: secret,
                    nonce: Array(nonce.reversed())))
        }
    }

    private static let proxy = ServerAddress(
        fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["mine.invalid"], password: "s3cret")

    private static func router(
        _ mode: PrivateRouting.Mode = .unknownServers, fallback: PrivateRouting.Fallback = .none,
        isProtected: Bool = false
    ) throws -> PrivateRouter {
        PrivateRouter(
            PrivateRouting(mode, fallback: fallback, servers: [try #require(proxy)]),
            isProtected: isProtected, random: SystemRandomSource())
    }

    /// The commands that each server received.
    private final class Heard: Sendable {
        let list = Lock<[String]>([])
        var all: [String] { list.withLock { $0 } }
    }

    @Test("unknown servers are reached through one proxy session")
    func through() async throws {
        let (far, router, heard) = (try Far(), try Self.router(), Heard())
        for _ in 0..<2 {
            let answer = await router.ask(
                ClientRequest(.text("hello"), of: [1, 2, 3], key: .signing(.generate())), of: far.address
            ) { request, server in
                #expect(server == Self.proxy)
                do {
                    switch request.command {
                    case .proxy(let to, let password):
                        heard.list.withLock { $0.append("open") }
                        #expect(to == far.address)
                        #expect(password == Array("s3cret".utf8))
                        return .success(.proxyOpened(try far.hello()))
                    default:
                        heard.list.withLock { $0.append("forward") }
                        #expect(request.timeout == .seconds(20))
                        return .success(
                            .forwarded(box: try far.answer(.text("hello"), to: request, with: .ok)))
                    }
                } catch {
                    return .failure(SMPError(.malformed, "\(error)"))
                }
            }
            #expect(try answer.get() == .ok)
        }
        #expect(heard.all == ["open", "forward", "forward"])
    }

    @Test("lost sessions reopen once, wrong servers get no request")
    func lostAndWrong() async throws {
        let (far, other, router, heard) = (try Far(), try Far(), try Self.router(), Heard())
        let request = ClientRequest(.linkGet, of: [1, 2, 3])
        let link = Answer.link(senderID: [1], data: LinkBlobs(fixed: [2], user: [3]))
        let answer = await router.ask(request, of: far.address) { request, _ in
            do {
                if case .proxy = request.command {
                    heard.list.withLock { $0.append("open") }
                    return .success(.proxyOpened(try far.hello()))
                }
                heard.list.withLock { $0.append("forward") }
                if heard.all.count == 2 { return .success(.error(.proxy("NO_SESSION"))) }
                return .success(.forwarded(box: try far.answer(.linkGet, to: request, with: link)))
            } catch {
                return .failure(SMPError(.malformed, "\(error)"))
            }
        }
        #expect(try answer.get() == link)
        #expect(heard.all == ["open", "forward", "open", "forward"])
        let wrong = await router.ask(request, of: other.address) { request, _ in
            guard case .proxy = request.command, let hello = try? far.hello() else {
                Issue.record("something was asked of another server")
                return .failure(SMPError(.malformed, ""))
            }
            return .success(.proxyOpened(hello))
        }
        await expect(.wrongIdentity) { try wrong.get() }
    }

    @Test("the next request uses another proxy after a failure")
    func proxyAway() async throws {
        let far = try Far()
        let proxies = try (1...2).map { number in
            try #require(
                ServerAddress(
                    fingerprint: [UInt8](repeating: number, count: 32), hosts: ["proxy\(number).invalid"]))
        }
        let router = PrivateRouter(
            PrivateRouting(.always, servers: proxies), isProtected: false, random: SystemRandomSource())
        let away = Lock<ServerAddress?>(nil)
        let asked = Lock<[ServerAddress]>([])
        let ask: PrivateRouter.Asking = { request, server in
            guard away.withLock({ $0 }) != server else { return .failure(SMPError(.unreachable, "away")) }
            do {
                if case .proxy = request.command { return .success(.proxyOpened(try far.hello())) }
                asked.withLock { $0.append(server) }
                return .success(.forwarded(box: try far.answer(.text("a"), to: request, with: .ok)))
            } catch {
                return .failure(SMPError(.malformed, "\(error)"))
            }
        }
        let request = ClientRequest(.text("a"), of: [1])
        #expect(try await router.ask(request, of: far.address, ask).get() == .ok)
        let first = try #require(asked.withLock { $0.first })
        away.withLock { $0 = first }
        await expect(.unreachable) { try await router.ask(request, of: far.address, ask).get() }
        for _ in 0..<3 { #expect(try await router.ask(request, of: far.address, ask).get() == .ok) }
        let other = try #require(proxies.first { $0 != first })
        #expect(asked.withLock { $0 } == [first, other, other, other])
    }

    @Test("a proxy that does not reach the server is not kept")
    func proxyWithoutWay() async throws {
        let far = try Far()
        let proxies = try (1...2).map { number in
            try #require(
                ServerAddress(
                    fingerprint: [UInt8](repeating: number, count: 32), hosts: ["proxy\(number).invalid"]))
        }
        let router = PrivateRouter(
            PrivateRouting(.always, servers: proxies), isProtected: false, random: SystemRandomSource())
        let first = Lock<ServerAddress?>(nil)
        let ask: PrivateRouter.Asking = { request, server in
            do {
                if case .proxy = request.command { return .success(.proxyOpened(try far.hello())) }
                let isFirst = first.withLock { known in
                    known = known ?? server
                    return known == server
                }
                if isFirst { return .success(.error(.proxy("BROKER TIMEOUT"))) }
                return .success(.forwarded(box: try far.answer(.text("a"), to: request, with: .ok)))
            } catch {
                return .failure(SMPError(.malformed, "\(error)"))
            }
        }
        let request = ClientRequest(.text("a"), of: [1])
        await expect(.server(.proxy("BROKER TIMEOUT"))) {
            try await router.ask(request, of: far.address, ask).get()
        }
        // Each new session is with a proxy chosen at random.
        var isAnswered = false
        for _ in 0..<200 where !isAnswered {
            isAnswered = (try? await router.ask(request, of: far.address, ask).get()) == .ok
        }
        #expect(isAnswered)
    }

    @Test("changed answers are detected without a repeat")
    func changedAnswer() async throws {
        let (far, router) = (try Far(), try Self.router(fallback: .direct))
        let answer = await router.ask(ClientRequest(.text("a"), of: [1]), of: far.address) {
            request, server in
            #expect(server == Self.proxy)
            do {
                if case .proxy = request.command { return .success(.proxyOpened(try far.hello())) }
                var box = try far.answer(.text("a"), to: request, with: .ok)
                box[100] ^= 1
                return .success(.forwarded(box: box))
            } catch {
                return .failure(SMPError(.malformed, "\(error)"))
            }
        }
        await expect(.notAuthentic) { try answer.get() }
    }

    @Test(
        "without a proxy the fallback rule decides",
        arguments: [
            (PrivateRouting.Fallback.none, true, false), (.whenProtected, false, false),
            (.whenProtected, true, true), (.direct, false, true),
        ])
    func fallback(_ fallback: PrivateRouting.Fallback, isProtected: Bool, isAsked: Bool) async throws {
        let (far, router) = (try Far(), try Self.router(fallback: fallback, isProtected: isProtected))
        let answer = await router.ask(ClientRequest(.text("a"), of: [1]), of: far.address) { _, server in
            server == far.address ? .success(.ok) : .success(.error(.proxy("BROKER HOST")))
        }
        if isAsked {
            #expect(try answer.get() == .ok)
        } else {
            await expect(.unreachable) { try answer.get() }
        }
    }

    @Test("only forwardable commands are routed, as the mode says")
    func modes() async throws {
        let (far, mine) = (try Far().address, try #require(Self.proxy))
        let (send, subscribe) = (ClientRequest(.text("a")), ClientRequest(.subscribe))
        func routes(_ mode: PrivateRouting.Mode, _ request: ClientRequest, _ server: ServerAddress) -> Bool {
            PrivateRouting(mode, servers: [mine]).routes(request, to: server)
        }
        #expect(!routes(.never, send, far))
        #expect(routes(.unknownServers, send, far) && !routes(.unknownServers, send, mine))
        #expect(routes(.always, send, mine) && !routes(.always, subscribe, far))
    }

    @Test(
        "a relay without forwarding gives its clients an error"
    )
    func ourRelay() async throws {
        let (mine, far) = (try Place(), try Place())
        var settings = ConnectionSettings.forTests
        settings.routing = PrivateRouting(.unknownServers, fallback: .none, servers: [mine.server])
        let (alice, bob) = (Person(), Person(settings))
        let queue = try await alice.makeQueue(far.server)
        await expect(.unreachable) {
            try await bob.ask(.text("hello"), of: queue.ids.senderID, far.server)
        }
        #expect(far.relay.connectionCount == 1)
        await mine.relay.stop()
        await far.relay.stop()
    }
}
