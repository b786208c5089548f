import Base
import Cryptography
import TestSupport
import Testing

@testable import Network
@testable import SMP
@testable import SMPRelay

@Suite("Forwarding for several clients")
struct WaysOutTests {
    /// A client's session with another relay through the first one.
    private struct OpenWay {
        let client: RawClient
        let session: ProxiedSession

        init(_ client: RawClient, to server: ServerAddress) throws {
            guard case .proxyOpened(let found) = try client.ask(.proxy(to: server, password: nil)) else {
                throw WaitedInVain("a way")
            }
            self.client = client
            session = try ProxiedSession(found)
        }

        /// Returns the other relay's answer to a message for a missing queue, or nil if the session is gone.
        func answer() throws -> Answer? {
            let request = try session.wrap(
                ClientRequest(.text("hello"), of: [UInt8](repeating: 1, count: 24)))
            let outer = request.outer
            let answer = try client.ask(
                outer.command, of: outer.entityID, correlationID: outer.correlationID)
            guard case .forwarded(let box) = answer else { return nil }
            return try session.open(box, of: request)
        }
    }

    private static func relays(
        _ change: (inout MessageRelaySettings) -> Void = { _ in }
    ) throws -> (mine: RelayPlace, far: RelayPlace) {
        let mine = try RelayPlace { settings in
            settings.handsOn = .to(OutboundPolicy { $0.host != "127.0.0.9" })
            change(&settings)
        }
        return (mine, try RelayPlace { $0.listen = Endpoint(host: "0.0.0.0", port: 0) })
    }

    /// The same relay under another address.
    private static func address(_ far: RelayPlace, _ number: Int) throws -> ServerAddress {
        try #require(
            ServerAddress(
                fingerprint: far.relay.address.fingerprint, hosts: ["127.0.1.\(number)"],
                port: far.relay.address.port))
    }

    @Test("unreachable servers do not displace connections")
    func unreachable() async throws {
        let (mine, far) = try Self.relays()
        try await blocking {
            let (client, hostile) = (
                try RawClient.connected(to: mine.relay.address),
                try RawClient.connected(to: mine.relay.address)
            )
            let way = try OpenWay(client, to: Self.address(far, 1))
            #expect(try way.answer() == .error(.authorization))
            for number in 1...70 {
                let nobody = try #require(
                    ServerAddress(
                        fingerprint: SystemRandomSource().bytes(32),
                        hosts: ["127.0.0.\(number.isMultiple(of: 2) ? 9 : 1)"], port: UInt16(number)))
                guard case .error(.proxy) = try hostile.ask(.proxy(to: nobody, password: nil)) else {
                    Issue.record("a session with a missing server")
                    return
                }
            }
            #expect(try way.answer() == .error(.authorization))
        }
        await mine.stop()
        await far.stop()
    }

    @Test("a reset connection ends its pending requests")
    func reset() async throws {
        // Servers that never respond, so requests for them end with a timeout.
        let silent = try Socket.listen(
            on: SocketAddress.resolve(
                Endpoint(host: "127.0.0.1", port: 0), numericOnly: true, listening: true))
        let port = silent.localPort()
        let place = try RelayPlace { $0.handsOn = .to(.everything) }
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let server = try #require(
                ServerAddress(
                    fingerprint: SystemRandomSource().bytes(32), hosts: ["127.0.0.1"], port: port))
            let ways = (0..<20).map { _ in ClientRequest(.proxy(to: server, password: nil)) }
            try client.askOnly([ClientRequest(.ping)] + ways)
            // Closing with an unread answer makes the kernel reset the connection.
        }
        try await wait(until: "no client is connected", within: .seconds(10)) {
            place.relay.connectionCount == 0
        }
        await place.stop()
        withExtendedLifetime(silent) {}
    }

    @Test(
        "a client beyond its limit loses its oldest connection"
    )
    func many() async throws {
        let (mine, far) = try Self.relays {
            $0.limits.otherServers = 4
            $0.limits.waysOut = 3
        }
        try await blocking {
            let (client, greedy) = (
                try RawClient.connected(to: mine.relay.address),
                try RawClient.connected(to: mine.relay.address)
            )
            let way = try OpenWay(client, to: Self.address(far, 1))
            #expect(try way.answer() == .error(.authorization))
            let ways = try (2...12).map { try OpenWay(greedy, to: Self.address(far, $0)) }
            #expect(try ways[0].answer() == nil)
            for way in ways.suffix(3) { #expect(try way.answer() == .error(.authorization)) }
            #expect(try way.answer() == .error(.authorization))
            // A dropped connection is opened again.
            #expect(try OpenWay(greedy, to: Self.address(far, 2)).answer() == .error(.authorization))
            #expect(try way.answer() == .error(.authorization))
        }
        await mine.stop()
        await far.stop()
    }
}
