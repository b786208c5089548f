import Base
import Network
import TestSupport
import Testing

@testable import SMP
@testable import SMPClient

@Suite("Suspended, moved and idle connections")
struct SuspensionTests {
    @Test(
        "suspension stops connections; resuming delivers at once"
    )
    func suspended() async throws {
        let place = try Place()
        // A listener in a retry delay would wait for an hour.
        var settings = ConnectionSettings.forTests
        settings.retry = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)
        let (alice, bob) = (Person(settings), Person())
        let queue = try await alice.makeQueue(place.server)
        alice.connections.suspend()
        _ = try await alice.event("the end") { $0 == .disconnected(place.server) }
        try await wait(until: "the relay has one client less") { place.relay.connectionCount == 0 }
        await expect(.unreachable) { try await alice.ask(.ping, place.server) }
        await expect(.unreachable) {
            try await alice.connections.ask(queue.subscription, of: place.server)
        }
        #expect(try await bob.ask(.text("meanwhile"), of: queue.ids.senderID, place.server) == .ok)
        alice.connections.resume()
        _ = try await alice.event("the new connection") { $0 == .connected(place.server) }
        #expect(try await alice.connections.ask(queue.subscription, of: place.server) == .subscribed)
        #expect(try await alice.message(of: queue).body.text == "meanwhile")
        await place.relay.stop()
    }

    @Test("a new server is not contacted during suspension")
    func neverAsked() async throws {
        let place = try Place()
        let alice = Person()
        alice.connections.suspend()
        await expect(.unreachable) { try await alice.ask(.ping, place.server) }
        #expect(place.relay.connectionCount == 0)
        alice.connections.resume()
        #expect(try await alice.ask(.ping, place.server) == .pong)
        await alice.connections.close()
        await place.relay.stop()
    }

    @Test("a network change replaces a silently dead connection")
    func deadAfterChange() async throws {
        let server = try FakeServer()
        var settings = ConnectionSettings.forTests
        settings.probeTimeout = .milliseconds(300)
        let alice = Person(settings)
        let asked = Task { try await alice.ask(.ping, server.address) }
        try await wait(until: "it was asked") { server.blocks == 1 }
        alice.connections.networkChanged()
        // Long before the request's limit of a minute.
        await expect(.disconnected) { try await asked.value }
        #expect(server.blocks == 2)
        await alice.connections.close()
        await server.stop()
    }

    @Test("a network change keeps a live connection")
    func aliveAfterChange() async throws {
        let place = try Place()
        let (alice, bob) = (Person(), Person())
        let queue = try await alice.makeQueue(place.server)
        for number in 0..<3 {
            alice.connections.networkChanged()
            #expect(try await bob.ask(.text("\(number)"), of: queue.ids.senderID, place.server) == .ok)
            let message = try await alice.message(of: queue)
            #expect(message.body.text == "\(number)")
            #expect(
                try await alice.ask(
                    .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key,
                    place.server) == .ok)
        }
        #expect(!alice.events.contains(.disconnected(place.server)))
        await place.relay.stop()
    }

    @Test(
        "an idle server uses no thread or descriptor"
    )
    func forgotten() async throws {
        let place = try Place()
        var settings = ConnectionSettings.forTests
        settings.idleTimeout = .milliseconds(1)
        let alice = Person(settings)
        for _ in 0..<20 {
            #expect(try await alice.ask(.ping, place.server) == .pong)
            try await wait(until: "it is forgotten") { alice.connections.serverCount == 0 }
        }
        // Concurrent requests during retirement get their answers.
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { await Self.answers(to: alice, place.server) } }
            #expect(await group.reduce(0, +) == 160)
        }
        await alice.connections.close()
        await place.relay.stop()
    }

    private static func answers(to person: Person, _ server: ServerAddress) async -> Int {
        var count = 0
        for _ in 0..<20 {
            if case .success(.pong) = await person.connections.ask(
                [ClientRequest(.ping, timeout: .seconds(60))], of: server)[0]
            {
                count += 1
            }
        }
        return count
    }
}
