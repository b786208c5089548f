import Base
import Cryptography
import Network
import Posix
import SMP
import Store
import TestSupport
import Testing

@testable import SMPRelay

@Suite("Resource limits of clients")
struct CostTests {
    @Test("queues and messages count in the quota until deleted")
    func quota() async throws {
        // Two queues and a message of 100 bytes.
        let place = try RelayPlace { $0.quota = 2 * 1024 + 356 }
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let (first, second) = (try client.queue(), try client.queue())
            #expect(try client.makeQueue().answer == .error(.quota))
            let message = Command.send(flags: [], body: [UInt8](repeating: 1, count: 100))
            #expect(try client.ask(message, of: first.ids.senderID) == .ok)
            #expect(try client.ask(message, of: second.ids.senderID) == .error(.quota))
            let delivered = try client.message()
            #expect(
                try client.ask(
                    .acknowledge(messageID: delivered.id), of: first.ids.recipientID, key: first.key) == .ok)
            #expect(try client.ask(message, of: second.ids.senderID) == .ok)
            #expect(try client.ask(.delete, of: second.ids.recipientID, key: second.key) == .ok)
            #expect(try client.ask(message, of: first.ids.senderID) == .ok)
        }
        await place.stop()
    }

    @Test("new queues per address are limited by the hour")
    func newQueues() async throws {
        let place = try RelayPlace { $0.limits.newQueues = 2 }
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            for _ in 0..<2 { _ = try client.queue() }
            #expect(try client.makeQueue().answer == .error(.quota))
            place.clock.advance(by: .seconds(1800))
            _ = try client.queue()
            #expect(try client.makeQueue().answer == .error(.quota))
        }
        await place.stop()
    }

    @Test("expired messages are deleted and free a full queue")
    func expiry() async throws {
        let place = try RelayPlace { $0.limits.messages = 1 }
        let used = try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            guard case .created(let ids) = try client.makeQueue(subscribes: false).answer else {
                throw WaitedInVain("a queue")
            }
            #expect(try client.ask(.text("a"), of: ids.senderID) == .ok)
            #expect(try client.ask(.text("b"), of: ids.senderID) == .error(.quota))
            return ids
        }
        await place.stop()
        let database = try Database(path: place.recordsPath, migrations: QueueRecords.migrations)
        var settings = MessageRelaySettings(
            folder: "", identity: try NewServerIdentity.make(.ed25519, hostName: "x").identity,
            clock: place.clock)
        settings.expiry = .seconds(60)
        try database.transaction { connection in
            let records = QueueRecords(connection: connection)
            var processor = CommandProcessor(settings: settings, used: try records.usedBytes())
            #expect(try !processor.expire(records))
            #expect(try records.messageCount(of: 1) == 2)
            place.clock.advance(by: .seconds(61))
            #expect(try !processor.expire(records))
            #expect(try records.messageCount(of: 1) == 0)
            #expect(try records.queue(ofSender: used.senderID)?.isFull == false)
            #expect(try records.usedBytes() == DiskUse.queue)
        }
    }

    @Test("the addresses of clients are not stored")
    func addresses() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            #expect(try client.ask(.text("a"), of: try client.queue().ids.senderID) == .ok)
        }
        await place.stop()
        let files = ["queues.db", "queues.db-wal"].compactMap { try? place.folder.read("relay/" + $0) }
        let bytes = Array(files.joined())
        #expect(bytes.count > 4096)
        #expect(!bytes.contains(Array("127.0.0.1".utf8)) && !bytes.contains([127, 0, 0, 1]))
    }

    @Test("the documented limits are the default")
    func documentedLimits() throws {
        let limits = MessageRelaySettings.Limits()
        #expect(limits.connections == 768 && limits.connectionsOfPeer == 512)
        #expect(limits.handshake == .seconds(30) && limits.stranger == .seconds(300))
        #expect(limits.stall == .seconds(120) && limits.memory == 64 << 20)
        #expect(HeldBytes.own == 52 << 10 && HeldBytes.most == 1 << 20)
        #expect(limits.newQueues == 1000 && limits.messages == 128)
        #expect(limits.otherServers == 64 && limits.waysOut == 16)
        let day = Duration.seconds(86_400)
        #expect(MessageRelaySettings.usualExpiry == day * 21)
        #expect(MessageRelaySettings.usualUnusedQueues == day * 7)
        #expect(MessageRelaySettings.usualIdleQueues == day * 90)
    }

    @Test("at most eight deliveries wait for a client")
    func room() async throws {
        let client = Client(number: 1, wakeUp: try WakeUp())
        var deliveries = Deliveries()
        for queue in Int64(0)..<20 { #expect(deliveries.subscribe(client, to: queue) == nil) }
        let begun = (Int64(0)..<20).filter { deliveries.begin($0) != nil }
        #expect(begun == Array(0..<8))
        #expect(deliveries.begin(12) == nil)
        for _ in 0..<8 {
            let message = StoredMessage(number: 1, id: [], body: .quota(received: 0))
            client.tell(
                Client.Message(
                    correlationID: [], entityID: [],
                    content: .delivery(message, boxSecret: WipedBytes([])), isAnswer: false))
        }
        #expect(client.take().wasStarved)
        #expect(deliveries.ready(client, atMost: 5) == Array(8..<13))
        #expect(deliveries.ready(client, atMost: 50) == Array(13..<20))
        #expect(!client.take().wasStarved)
    }

    @Test("a rollback undoes changes of subscriptions")
    func rollBack() async throws {
        let (first, second) = (
            Client(number: 1, wakeUp: try WakeUp()), Client(number: 2, wakeUp: try WakeUp())
        )
        var deliveries = Deliveries()
        _ = deliveries.subscribe(first, to: 1)
        deliveries.delivered(1, StoredMessage(number: 7, id: [7], body: .quota(received: 0)))
        deliveries.commit()
        #expect(deliveries.subscribe(second, to: 1) === first)
        _ = deliveries.subscribe(second, to: 2)
        #expect(deliveries.acknowledge([7], of: 1, by: first) == nil)
        deliveries.rollBack()
        #expect(deliveries.client(of: 1) === first)
        #expect(deliveries.client(of: 2) == nil)
        #expect(deliveries.acknowledge([7], of: 1, by: first) == 7)
        deliveries.rollBack()
        #expect(deliveries.acknowledge([7], of: 1, by: first) == 7)
        deliveries.remove(second)
        #expect(deliveries.count == 1)
    }

    @Test("a slow reader is closed without delaying others")
    func slowReader() async throws {
        let place = try RelayPlace {
            $0.limits.stall = .seconds(1)
            $0.limits.messages = 1000
        }
        try await blocking {
            let (slow, other) = (
                try RawClient.connected(to: place.relay.address),
                try RawClient.connected(to: place.relay.address)
            )
            slow.boundReceiveBuffer()
            // 10 MB, more than the send buffer of the kernel and this receive buffer hold.
            let queues = try (0..<600).map { _ in try slow.queue() }
            for queue in queues {
                let body = [UInt8](repeating: 1, count: 16_000)
                #expect(try other.ask(.send(flags: [], body: body), of: queue.ids.senderID) == .ok)
            }
            // Both stay open so far; the reading client is answered all the time.
            let end = ContinuousClock.now + .seconds(60)
            while place.relay.connectionCount == 2, ContinuousClock.now < end {
                #expect(try other.ask(.ping) == .pong)
            }
            #expect(place.relay.connectionCount == 1)
            #expect(slow.hearsTheEnd())
        }
        await place.stop()
    }
}
