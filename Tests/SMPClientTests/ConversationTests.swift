import Base
import Cryptography
import SMP
import TestSupport
import Testing

@testable import SMPClient

@Suite("Two people and a relay")
struct ConversationTests {
    @Test("messages arrive in order until acknowledged")
    func messages() async throws {
        let place = try Place()
        let (alice, bob) = (Person(), Person())
        let queue = try await alice.makeQueue(place.server)
        let key = SigningKey.generate()
        #expect(
            try await bob.ask(
                .senderKey(key: key.publicKey), of: queue.ids.senderID, key: key, place.server) == .ok)
        for number in 0..<5 {
            let sent = try await bob.ask(
                .text("message \(number)"), of: queue.ids.senderID, key: key, place.server)
            #expect(sent == .ok)
        }
        for number in 0..<5 {
            let message = try await alice.message(of: queue)
            #expect(message.body.text == "message \(number)")
            let answer = try await alice.ask(
                .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key, place.server)
            #expect(answer == .ok)
        }
        let once = try await alice.ask(
            .acknowledge(messageID: [1, 2, 3]), of: queue.ids.recipientID, key: queue.key, place.server)
        #expect(once == .error(.noMessage))
        await place.relay.stop()
    }

    @Test("unacknowledged messages repeat, also after a restart")
    func redelivery() async throws {
        let place = try Place()
        let (alice, bob) = (Person(), Person())
        let queue = try await alice.makeQueue(place.server)
        try await bob.ask(.text("hello"), of: queue.ids.senderID, place.server)
        let first = try await alice.event("the message", \.isDelivery)
        #expect(try await alice.connections.ask(queue.subscription, of: place.server) == .subscribed)
        #expect(try await alice.event("it again", \.isDelivery) == first)
        try await place.restart()
        _ = try await alice.event("the end") { $0 == .disconnected(place.server) }
        _ = try await alice.event("the new connection") { $0 == .connected(place.server) }
        #expect(try await alice.connections.ask(queue.subscription, of: place.server) == .subscribed)
        #expect(try await alice.event("it once more", \.isDelivery) == first)
        await place.relay.stop()
    }

    @Test("a new subscriber takes the queue over")
    func takeover() async throws {
        let place = try Place()
        let (alice, tablet, bob) = (Person(), Person(), Person())
        let queue = try await alice.makeQueue(place.server)
        try await bob.ask(.text("hello"), of: queue.ids.senderID, place.server)
        let message = try await alice.message(of: queue)
        #expect(try await tablet.connections.ask(queue.subscription, of: place.server) == .subscribed)
        _ = try await alice.event("the end of it") {
            $0 == .ended(place.server, recipientID: queue.ids.recipientID)
        }
        let acknowledgement = Command.acknowledge(messageID: message.id)
        #expect(
            try await alice.ask(acknowledgement, of: queue.ids.recipientID, key: queue.key, place.server)
                == .error(.noMessage))
        #expect(try await tablet.message(of: queue).id == message.id)
        #expect(
            try await alice.ask(.delete, of: queue.ids.recipientID, key: queue.key, place.server) == .ok)
        _ = try await tablet.event("the deletion") {
            $0 == .deleted(place.server, recipientID: queue.ids.recipientID)
        }
        #expect(
            try await bob.ask(.text("gone"), of: queue.ids.senderID, place.server) == .error(.authorization))
        await place.relay.stop()
    }

    @Test("135 subscriptions are answered in order")
    func batches() async throws {
        let place = try Place()
        let alice = Person()
        var queues: [Queue] = []
        for _ in 0..<134 { queues.append(try await alice.makeQueue(place.server, subscribes: false)) }
        var requests = queues.map(\.subscription)
        requests.insert(
            ClientRequest(.subscribe, of: [UInt8](repeating: 7, count: 24), key: .signing(.generate())),
            at: 50)
        let answers = await alice.connections.ask(requests, of: place.server)
        for (index, answer) in answers.enumerated() {
            #expect(try answer.get() == (index == 50 ? .error(.authorization) : .subscribed))
        }
        #expect(place.relay.connectionCount == 1)
        await place.relay.stop()
    }

    @Test("a full queue refuses messages and tells its recipient")
    func quota() async throws {
        let place = try Place { $0.limits.messages = 3 }
        let (alice, bob) = (Person(), Person())
        let queue = try await alice.makeQueue(place.server)
        var answers: [Answer] = []
        for number in 0..<5 {
            answers.append(try await bob.ask(.text("\(number)"), of: queue.ids.senderID, place.server))
        }
        #expect(answers == [.ok, .ok, .ok, .error(.quota), .error(.quota)])
        for number in 0..<4 {
            let message = try await alice.message(of: queue)
            #expect(message.body.text == (number == 3 ? nil : "\(number)"))
            #expect(
                try await bob.ask(.text("more"), of: queue.ids.senderID, place.server) == .error(.quota))
            try await alice.ask(
                .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key, place.server)
        }
        #expect(try await bob.ask(.text("again"), of: queue.ids.senderID, place.server) == .ok)
        #expect(try await alice.message(of: queue).body.text == "again")
        await place.relay.stop()
    }

    @Test("a slow listener has bounded memory and misses nothing")
    func slowListener() async throws {
        let place = try Place()
        let (alice, bob) = (QueueConnections(.forTests), Person())
        let owner = Person()
        var queues: [[UInt8]: Queue] = [:]
        for _ in 0..<300 {
            let queue = try await owner.makeQueue(place.server, subscribes: false)
            queues[queue.ids.recipientID] = queue
            try await bob.ask(.text("hello"), of: queue.ids.senderID, place.server)
        }
        let answers = await alice.ask(queues.values.map(\.subscription), of: place.server)
        #expect(answers.allSatisfy { (try? $0.get()) == .subscribed })
        #expect(alice.waitingMessages <= QueueConnections.waitingMessages)
        var seen: Set<[UInt8]> = []
        for await event in alice.events {
            guard case .delivered(_, let id, let messageID, _) = event else { continue }
            seen.insert(id)
            let queue = try #require(queues[id])
            _ = try await alice.ask(
                ClientRequest(
                    .acknowledge(messageID: messageID), of: id, key: .signing(queue.key),
                    timeout: .seconds(60)), of: place.server)
            if seen.count == 300 { break }
        }
        #expect(seen.count == 300)
        await alice.close()
        await place.relay.stop()
    }
}

extension QueueServerEvent {
    var isDelivery: Bool {
        if case .delivered = self { true } else { false }
    }
}
