import Base
import Cryptography
import SMP
import TestSupport
import Testing

@testable import SMPClient

@Suite("Events that wait for the listener")
struct MailboxTests {
    private static let server = ServerAddress(
        fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["one.invalid"])
    private static let other = ServerAddress(
        fingerprint: [UInt8](repeating: 2, count: 32), hosts: ["two.invalid"])

    private static func message(_ number: UInt8, _ server: ServerAddress) -> QueueServerEvent {
        .delivered(server, recipientID: [number], messageID: [number], body: [])
    }

    @Test("capacity is limited per server and returns after half was taken")
    func capacity() async throws {
        let (server, other) = (try #require(Self.server), try #require(Self.other))
        let mailbox = EventMailbox(capacity: 4)
        for number in 0..<UInt8(4) { #expect(mailbox.deliver(Self.message(number, server), of: server)) }
        #expect(!mailbox.deliver(Self.message(4, server), of: server))
        #expect(mailbox.deliver(Self.message(9, other), of: other))
        mailbox.tell(.ended(server, recipientID: [5]))
        #expect(!mailbox.hasRoom(for: server))
        #expect(await mailbox.next()?.starved == nil)
        let second = await mailbox.next()
        #expect(second?.event == Self.message(1, server))
        #expect(second?.starved == server)
        #expect(mailbox.hasRoom(for: server))
        // Reported once: the message left on the server is fetched now.
        #expect(await mailbox.next()?.starved == nil)
    }

    @Test("a lost connection removes its messages and outdated events")
    func outdated() async throws {
        let (server, other) = (try #require(Self.server), try #require(Self.other))
        let mailbox = EventMailbox(capacity: 4)
        #expect(mailbox.deliver(Self.message(1, server), of: server))
        #expect(mailbox.deliver(Self.message(2, other), of: other))
        mailbox.tell(.deleted(server, recipientID: [5]))
        for _ in 0..<100 {
            mailbox.disconnected(server)
            mailbox.tell(.connected(server))
        }
        mailbox.finish()
        var events: [QueueServerEvent] = []
        while let next = await mailbox.next() { events.append(next.event) }
        #expect(
            events == [
                Self.message(2, other), .deleted(server, recipientID: [5]), .disconnected(server),
                .connected(server),
            ])
    }

    @Test("a cancelled listener loses no event")
    func cancelled() async throws {
        let server = try #require(Self.server)
        let mailbox = EventMailbox(capacity: 4)
        let listener = Task { await mailbox.next()?.event }
        listener.cancel()
        #expect(await listener.value == nil)
        #expect(mailbox.deliver(Self.message(1, server), of: server))
        #expect(await mailbox.next()?.event == Self.message(1, server))
    }
}

@Suite("The subscriptions of a connection")
struct SubscriptionTests {
    @Test(
        "subscriptions last until refusal, deletion or takeover"
    )
    func life() {
        var subscriptions = Subscriptions()
        let key = CommandKey.signing(.generate())
        let (first, second) = (
            ClientRequest(.subscribe, of: [1], key: key), ClientRequest(.subscribe, of: [2], key: key)
        )
        subscriptions.asked(first)
        subscriptions.asked(second)
        #expect(subscriptions.contains([1]) && subscriptions.contains([2]))
        subscriptions.answered(second, .error(.authorization))
        #expect(!subscriptions.contains([2]))
        subscriptions.hold([1])
        let held = subscriptions.takeHeld(atMost: 5)
        #expect(held.map(\.entityID) == [[1]])
        #expect(!subscriptions.hasHeld)
        subscriptions.hold([1])
        let (wasThere, isThere) = (subscriptions.remove([1]), subscriptions.remove([1]))
        #expect(wasThere && !isThere)
        #expect(!subscriptions.hasHeld)
        let new = ClientRequest(
            .new(.init(recipientKey: [], boxKey: [], subscribes: true, mode: nil)), key: key)
        subscriptions.answered(
            new, .created(.init(recipientID: [3], senderID: [4], boxKey: [], mode: nil)))
        #expect(subscriptions.contains([3]))
        subscriptions.answered(ClientRequest(.delete, of: [3], key: key), .ok)
        #expect(subscriptions.isEmpty)
    }
}
