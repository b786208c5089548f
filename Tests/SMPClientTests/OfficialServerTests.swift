import Base
import Cryptography
import Network
import SMP
import TestSupport
import Testing

@testable import SMPClient

@Suite(
    "Our connections to the official server",
    .disabled(if: OfficialPrograms.lackMessages, "OFFICIAL_BIN names no folder with smp-server"))
struct OfficialServerTests {
    private static func start() async throws -> (relay: OfficialRelay, server: ServerAddress) {
        let relay = try await OfficialRelay.messages(in: try TemporaryFolder())
        return (relay, try #require(ServerAddress(relay.address)))
    }

    @Test("messages repeat until acknowledged, and queues move")
    func conversation() async throws {
        let (relay, server) = try await Self.start()
        let (alice, tablet, bob) = (Person(), Person(), Person())
        let queue = try await alice.makeQueue(server)
        let key = SigningKey.generate()
        #expect(
            try await bob.ask(
                .senderKey(key: key.publicKey), of: queue.ids.senderID, key: key, server) == .ok)
        for number in 0..<3 {
            #expect(
                try await bob.ask(.text("\(number)"), of: queue.ids.senderID, key: key, server) == .ok)
        }
        let first = try await alice.event("the message", \.isDelivery)
        #expect(try await alice.connections.ask(queue.subscription, of: server) == .subscribed)
        #expect(try await alice.event("it again", \.isDelivery) == first)
        #expect(try await tablet.connections.ask(queue.subscription, of: server) == .subscribed)
        _ = try await alice.event("the end of it") {
            $0 == .ended(server, recipientID: queue.ids.recipientID)
        }
        for number in 0..<3 {
            let message = try await tablet.message(of: queue)
            #expect(message.body.text == "\(number)")
            #expect(
                try await tablet.ask(
                    .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key, server)
                    == .ok)
        }
        #expect(try await alice.ask(.delete, of: queue.ids.recipientID, key: queue.key, server) == .ok)
        _ = try await tablet.event("the deletion") {
            $0 == .deleted(server, recipientID: queue.ids.recipientID)
        }
        try await relay.stop()
    }

    @Test("135 subscriptions survive a server restart")
    func batchesAndRestart() async throws {
        let (relay, server) = try await Self.start()
        let (alice, bob) = (Person(), Person())
        var queues: [Queue] = []
        for _ in 0..<135 { queues.append(try await alice.makeQueue(server, subscribes: false)) }
        for answer in await alice.connections.ask(queues.map(\.subscription), of: server) {
            #expect(try answer.get() == .subscribed)
        }
        try await relay.stop()
        _ = try await alice.event("the end") { $0 == .disconnected(server) }
        try await relay.start()
        _ = try await alice.event("the new connection") { $0 == .connected(server) }
        for answer in await alice.connections.ask(queues.map(\.subscription), of: server) {
            #expect(try answer.get() == .subscribed)
        }
        #expect(try await bob.ask(.text("hello"), of: queues[100].ids.senderID, server) == .ok)
        #expect(try await alice.message(of: queues[100]).body.text == "hello")
        try await relay.stop()
    }

    @Test("a full queue refuses messages until it is empty")
    func quota() async throws {
        let (relay, server) = try await Self.start()
        let (alice, bob) = (Person(), Person())
        let queue = try await alice.makeQueue(server)
        // One at a time: of several messages in one block that server stores the last first. Real messages fill a block
        // each.
        for number in 0..<130 {
            let answer = try await bob.ask(.text("\(number)"), of: queue.ids.senderID, server)
            #expect(answer == (number < 128 ? .ok : .error(.quota)))
        }
        for number in 0...128 {
            let message = try await alice.message(of: queue)
            #expect(message.body.text == (number == 128 ? nil : "\(number)"))
            try await alice.ask(
                .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key, server)
        }
        #expect(try await bob.ask(.text("again"), of: queue.ids.senderID, server) == .ok)
        try await relay.stop()
    }

    @Test("messages for other servers arrive through a proxy")
    func privateRouting() async throws {
        let (mine, proxy) = try await Self.start()
        let (theirs, server) = try await Self.start()
        var settings = ConnectionSettings.forTests
        settings.routing = PrivateRouting(.unknownServers, fallback: .none, servers: [proxy])
        let (alice, bob) = (Person(), Person(settings))
        let queue = try await alice.makeQueue(server)
        let key = SigningKey.generate()
        #expect(
            try await bob.ask(
                .senderKey(key: key.publicKey), of: queue.ids.senderID, key: key, server) == .ok)
        #expect(
            try await bob.ask(.text("from nowhere"), of: queue.ids.senderID, key: key, server) == .ok)
        #expect(try await alice.message(of: queue).body.text == "from nowhere")
        #expect(
            try await bob.ask(.text("unsigned"), of: queue.ids.senderID, server) == .error(.authorization))
        // The proxy session is lost with the server and opened again.
        try await theirs.stop()
        try await theirs.start()
        try await wait(until: "it is reached again") {
            (try? await bob.ask(.text("again"), of: queue.ids.senderID, key: key, server)) == .ok
        }
        try await mine.stop()
        try await theirs.stop()
    }

    @Test("our relay and the official one forward to each other")
    func handedOnBothWays() async throws {
        let (relay, official) = try await Self.start()
        let ours = try Place { $0.handsOn = .to(.everything) }
        for (proxy, server) in [(ours.server, official), (official, ours.server)] {
            var settings = ConnectionSettings.forTests
            settings.routing = PrivateRouting(.unknownServers, fallback: .none, servers: [proxy])
            let (alice, bob) = (Person(), Person(settings))
            let queue = try await alice.makeQueue(server)
            let key = SigningKey.generate()
            #expect(
                try await bob.ask(
                    .senderKey(key: key.publicKey), of: queue.ids.senderID, key: key, server) == .ok)
            #expect(
                try await bob.ask(.text("from nowhere"), of: queue.ids.senderID, key: key, server) == .ok)
            #expect(try await alice.message(of: queue).body.text == "from nowhere")
            #expect(
                try await bob.ask(.text("unsigned"), of: queue.ids.senderID, server)
                    == .error(.authorization))
        }
        await ours.relay.stop()
        try await relay.stop()
    }

    @Test("a wrong fingerprint is refused")
    func wrongFingerprint() async throws {
        let (relay, server) = try await Self.start()
        let other = try #require(
            ServerAddress(
                fingerprint: [UInt8](repeating: 1, count: 32), hosts: server.hosts, port: server.port))
        await expect(.wrongIdentity) { try await Person().ask(.ping, other) }
        try await relay.stop()
    }
}
