import Base
import Cryptography
import Network
import SMP
import TestSupport
import Testing

@testable import SMPClient

@Suite("Servers named by others")
struct AdmissionTests {
    private let place: Place

    init() throws { place = try Place() }

    private static func person(
        _ policy: OutboundPolicy, refused: @escaping @Sendable (ServerAddress) -> Void = { _ in }
    ) -> Person {
        var settings = ConnectionSettings.forTests
        settings.policy = policy
        settings.refused = refused
        return Person(settings)
    }

    private func named(_ host: String) throws -> ServerAddress {
        try #require(
            ServerAddress(fingerprint: place.server.fingerprint, hosts: [host], port: place.server.port))
    }

    @Test(
        "servers in the own network are refused under every name",
        arguments: ["127.0.0.1", "localhost", "127.1", "2130706433"])
    func refused(host: String) async throws {
        let told = Lock<[ServerAddress]>([])
        let bob = Self.person(.strangers()) { server in told.withLock { $0.append(server) } }
        let server = try named(host)
        await expect(.notAllowed) { try await bob.ask(.text("hello"), of: [1], server) }
        await expect(.notAllowed) { try await bob.ask(.linkGet, of: [1], server) }
        #expect(Set(told.withLock { $0 }) == [server])
        #expect(place.relay.connectionCount == 0)
        await place.relay.stop()
    }

    @Test("the user's servers are permitted, also later choices")
    func chosen() async throws {
        let chosen = Lock<Set<ServerPlace>>([])
        let bob = Self.person(OutboundPolicy { place in chosen.withLock { $0.contains(place) } })
        await expect(.notAllowed) { try await bob.ask(.text("hello"), of: [1], place.server) }
        let places = place.server.places
        chosen.withLock { $0.formUnion(places) }
        try await wait(until: "it is asked") {
            let answer = try? await bob.ask(.text("hello"), of: [1], place.server)
            return answer == .error(.authorization)
        }
        await place.relay.stop()
    }

    @Test("servers of own queues are permitted and shared")
    func own() async throws {
        let bob = Self.person(.strangers())
        let queue = try await bob.makeQueue(place.server)
        #expect(try await bob.ask(.text("hello"), of: queue.ids.senderID, place.server) == .ok)
        #expect(place.relay.connectionCount == 1)
        await place.relay.stop()
    }

    @Test("a proxy is not asked for internal addresses")
    func proxied() async throws {
        var settings = ConnectionSettings.forTests
        settings.policy = .strangers()
        settings.proxy = SOCKSProxy(Endpoint(host: "127.0.0.1", port: 9), isolation: "x")
        let bob = Person(settings)
        await expect(.notAllowed) { try await bob.ask(.text("hello"), of: [1], named("localhost")) }
        await place.relay.stop()
    }

    @Test("SMP proxies are not asked for internal addresses")
    func routed() async throws {
        let far = try Place()
        var settings = ConnectionSettings.forTests
        settings.policy = OutboundPolicy(chosen: place.server.places)
        settings.routing = PrivateRouting(.unknownServers, fallback: .none, servers: [place.server])
        let bob = Person(settings)
        await expect(.notAllowed) { try await bob.ask(.text("hello"), of: [1], far.server) }
        #expect(place.relay.connectionCount == 0 && far.relay.connectionCount == 0)
        await place.relay.stop()
        await far.relay.stop()
    }

    @Test("a peer's excess attempts wait without delaying others")
    func budget() async throws {
        let bob = Self.person(.strangers())
        var codes: [SMPErrorCode: Int] = [:]
        for number in 0..<40 {
            // A name that resolves nowhere, so the test stays on this machine.
            let server = try #require(
                ServerAddress(
                    fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["h\(number).invalid"], port: 1))
            let request = ClientRequest(.text("x"), of: [1], timeout: .seconds(60), peer: "mallory")
            do throws(SMPError) {
                _ = try await bob.connections.ask(request, of: server)
            } catch {
                codes[error.code, default: 0] += 1
            }
        }
        // Some time may have passed.
        #expect((24...38).contains(codes[.unreachable] ?? 0), "\(codes)")
        #expect(codes[.notAllowed] == 40 - (codes[.unreachable] ?? 0))
        await place.relay.stop()
    }
}
