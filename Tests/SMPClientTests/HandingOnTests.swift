import Base
import Cryptography
import Network
import SMP
import SMPRelay
import TestSupport
import Testing

@testable import SMPClient

@Suite("Our relay forwards its clients' requests")
struct HandingOnTests {
    private static func handing(_ change: @escaping @Sendable (inout MessageRelaySettings) -> Void = { _ in })
        throws -> Place
    {
        try Place { settings in
            settings.handsOn = .to(.everything)
            change(&settings)
        }
    }

    private static func sender(over proxy: ServerAddress) -> Person {
        var settings = ConnectionSettings.forTests
        settings.routing = PrivateRouting(.unknownServers, fallback: .none, servers: [proxy])
        return Person(settings)
    }

    @Test(
        "forwards commands, links and refusals as one client"
    )
    func handedOn() async throws {
        let (mine, far) = (try Self.handing(), try Place())
        let (alice, bob) = (Person(), Self.sender(over: mine.server))
        let queue = try await alice.makeQueue(far.server)
        let key = SigningKey.generate()
        #expect(
            try await bob.ask(
                .senderKey(key: key.publicKey), of: queue.ids.senderID, key: key, far.server) == .ok)
        for number in 0..<3 {
            #expect(
                try await bob.ask(.text("\(number)"), of: queue.ids.senderID, key: key, far.server) == .ok)
            let message = try await alice.message(of: queue)
            #expect(message.body.text == "\(number)")
            try await alice.ask(
                .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key, far.server)
        }
        #expect(
            try await bob.ask(.text("unsigned"), of: queue.ids.senderID, far.server) == .error(.authorization)
        )
        let agreement = AgreementKey.generate()
        let second = try await alice.makeQueue(far.server)
        #expect(
            try await bob.connections.ask(
                ClientRequest(
                    .senderKey(key: agreement.publicKey), of: second.ids.senderID,
                    key: .agreement(agreement),
                    timeout: .seconds(60)), of: far.server) == .ok)
        #expect(
            try await bob.ask(.linkGet, of: [UInt8](repeating: 1, count: 24), far.server)
                == .error(.authorization))
        #expect(far.relay.connectionCount == 2)
        await mine.relay.stop()
        await far.relay.stop()
    }

    @Test("lost proxy sessions are opened again")
    func lost() async throws {
        let (mine, far) = (try Self.handing(), try Place())
        let (alice, bob) = (Person(), Self.sender(over: mine.server))
        let queue = try await alice.makeQueue(far.server, subscribes: false)
        #expect(try await bob.ask(.text("first"), of: queue.ids.senderID, far.server) == .ok)
        for place in [far, mine] {
            try await place.restart()
            try await wait(until: "it is reached again") {
                (try? await bob.ask(.text("again"), of: queue.ids.senderID, far.server)) == .ok
            }
        }
        await mine.relay.stop()
        await far.relay.stop()
    }

    @Test("never forwards into its own network")
    func inside() async throws {
        let (mine, far) = (try Self.handing { $0.handsOn = .to(.strangers()) }, try Place())
        let (alice, bob) = (Person(), Self.sender(over: mine.server))
        let queue = try await alice.makeQueue(far.server)
        await expect(.unreachable) {
            try await bob.ask(.text("hello"), of: queue.ids.senderID, far.server)
        }
        #expect(far.relay.connectionCount == 1)
        await mine.relay.stop()
        await far.relay.stop()
    }

    @Test("forwarding needs the password for queues")
    func password() async throws {
        let (mine, far) = (try Self.handing { $0.password = "word" }, try Place())
        let alice = Person()
        let queue = try await alice.makeQueue(far.server)
        for (password, works) in [(nil, false), ("other", false), ("word", true)] {
            let proxy = try #require(
                ServerAddress(
                    fingerprint: mine.server.fingerprint, hosts: mine.server.hosts, port: mine.server.port,
                    password: password))
            let bob = Self.sender(over: proxy)
            if works {
                #expect(try await bob.ask(.text("hello"), of: queue.ids.senderID, far.server) == .ok)
            } else {
                await expect(.unreachable) {
                    try await bob.ask(.text("hello"), of: queue.ids.senderID, far.server)
                }
            }
        }
        await mine.relay.stop()
        await far.relay.stop()
    }

    @Test("never forwards to a relay with a wrong identity")
    func wrongRelay() async throws {
        let (mine, far) = (try Self.handing(), try Place())
        let other = try #require(
            ServerAddress(
                fingerprint: [UInt8](repeating: 1, count: 32), hosts: far.server.hosts, port: far.server.port)
        )
        await expect(.unreachable) {
            try await Self.sender(over: mine.server).ask(.text("hello"), of: [1, 2, 3], other)
        }
        await mine.relay.stop()
        await far.relay.stop()
    }
}
