import Base
import Cryptography
import Network
import Posix
import SMP
import Store
import TestSupport
import Testing

@testable import SMPRelay

@Suite("Unused queues")
struct QueueExpiryTests {
    private static let link = LinkBlobs(
        fixed: [UInt8](repeating: 1, count: 100), user: [UInt8](repeating: 2, count: 13_000))

    /// A queue with link data, created by a client that does not subscribe.
    private static func make(_ client: RawClient) throws -> Answer {
        let correlationID = SystemRandomSource().bytes(24)
        let new = Command.NewLink(
            id: SystemRandomSource().bytes(24), senderID: Command.senderID(of: correlationID), data: link)
        return try client.makeQueue(
            mode: .contact, subscribes: false, link: new, correlationID: correlationID
        ).answer
    }

    @Test("unused queues expire earlier than used ones")
    func twoAges() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            guard case .created(let used) = try Self.make(client), case .created = try Self.make(client)
            else {
                throw WaitedInVain("queues")
            }
            #expect(try client.ask(.text("hello"), of: used.senderID) == .ok)
        }
        #expect(try await place.relay.statistics().unusedQueues == 1)
        let ages = QueuePurge.outOfUse(unused: .seconds(7 * 86_400), idle: .seconds(90 * 86_400))
        #expect(try await place.relay.purge(ages) == 0)
        place.clock.advance(by: .seconds(9 * 86_400))
        #expect(try await place.relay.purge(ages) == 1)
        #expect(try await place.relay.statistics().queues == 1)
        place.clock.advance(by: .seconds(83 * 86_400))
        #expect(try await place.relay.purge(ages) == 1)
        let left = try await place.relay.statistics()
        #expect(left.queues == 0 && left.messages == 0 && left.bytes == 0)
        await place.stop()
    }

    @Test("expiring queues make room on a full relay")
    func fullRelay() async throws {
        let place = try RelayPlace {
            $0.quota = 200_000
            $0.unusedQueues = .seconds(3600)
        }
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            while case .created = try Self.make(client) {}
            #expect(try Self.make(client) == .error(.quota))
        }
        await place.stop()
        place.clock.advance(by: .seconds(7200))
        var settings = MessageRelaySettings(
            folder: place.folder.path("relay"),
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity, clock: place.clock
        )
        (settings.quota, settings.unusedQueues) = (200_000, .seconds(3600))
        // The relay deletes expired queues at its start.
        let relay = try MessageRelay.start(settings)
        try await wait(until: "they are gone") { try await relay.statistics().bytes == 0 }
        let answer = try await blocking {
            try Self.make(try RawClient.connected(to: relay.address))
        }
        guard case .created = answer else { throw WaitedInVain("a queue") }
        await relay.stop()
    }

    @Test("a subscribed queue counts as used")
    func subscribed() async throws {
        let place = try RelayPlace()
        let client = try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            _ = try client.queue()
            return Held(client)
        }
        place.clock.advance(by: .seconds(200 * 86_400))
        let ages = QueuePurge.outOfUse(unused: .zero, idle: .zero)
        #expect(try await place.relay.purge(ages) == 0)
        #expect(try await place.relay.statistics().unusedQueues == 0)
        // A purge by the operator still notifies the owner.
        #expect(try await place.relay.purge(.everything) == 1)
        let told = try await blocking { try client.value.told() }
        #expect(told.contains { if case .deleted = $0 { true } else { false } })
        await place.stop()
    }

    @Test("a purge ends although many queues have a subscriber", .timeLimit(.minutes(5)))
    func manySubscribed() async throws {
        let place = try RelayPlace()
        let client = try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            for _ in 0..<CommandProcessor.queuesAtOnce + 1 { _ = try client.queue() }
            return Held(client)
        }
        // Uses are recorded rounded down, so each record is older than the limit of this purge.
        place.clock.advance(by: .seconds(100))
        let (unused, idle) = (Int64(1_800_000_100), Int64(1_800_000_050))
        var counts: [Int] = []
        for _ in 0..<3 {
            counts.append(
                try await place.relay.service.order { processor, records in
                    try processor.forgetQueues(madeBefore: unused, usedBefore: idle, records).looked
                })
        }
        #expect(counts == [CommandProcessor.queuesAtOnce, 1, 0])
        place.clock.advance(by: .seconds(50))
        #expect(try await place.relay.purge(.outOfUse(unused: .zero, idle: .zero)) == 0)
        #expect(try await place.relay.statistics().queues == CommandProcessor.queuesAtOnce + 1)
        withExtendedLifetime(client) {}
        await place.stop()
    }

    @Test("a short age counts from the last use")
    func shortAge() async throws {
        let place = try RelayPlace { $0.idleQueues = .seconds(3600) }
        // Just before the recorded times of a relay that keeps unused queues for a week change.
        let step: Int64 = 7 * 86_400 / 24
        place.clock.advance(by: .seconds(step - 1_800_000_000 % step - 60))
        let client = try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.makeQueue(subscribes: false)
            guard case .created(let ids) = queue.answer else { throw WaitedInVain("a queue") }
            #expect(try client.ask(.text("hello"), of: ids.senderID) == .ok)
            return Held(client)
        }
        func expire() async throws -> Int {
            _ = try await place.relay.service.order { processor, records in try processor.expire(records) }
            return try await place.relay.statistics().queues
        }
        place.clock.advance(by: .seconds(3300))
        #expect(try await expire() == 1)
        place.clock.advance(by: .seconds(600))
        #expect(try await expire() == 0)
        withExtendedLifetime(client) {}
        await place.stop()
    }

    /// Used by one thread after another.
    private final class Held: @unchecked Sendable {
        let value: RawClient
        init(_ value: RawClient) { self.value = value }
    }

    @Test("connections of one address share its allowance")
    func oneAddress() async throws {
        let place = try RelayPlace { $0.limits.newQueues = 3 }
        try await blocking {
            let clients = try (0..<2).map { _ in try RawClient.connected(to: place.relay.address) }
            for number in 0..<3 { _ = try clients[number % 2].queue() }
            for client in clients { #expect(try client.makeQueue().answer == .error(.quota)) }
            let later = try RawClient.connected(to: place.relay.address)
            #expect(try later.makeQueue().answer == .error(.quota))
        }
        await place.stop()
    }

    @Test("one address cannot take the last quarter of the disk")
    func lastQuarter() {
        let (first, second) = (PeerAddress([1, 2, 3, 4]), PeerAddress([5, 6, 7, 8]))
        var allowances = PeerAllowances(queuesPerHour: 10, quota: 1 << 30)
        var taken = 0
        while allowances.takeScarce(16_384, first, now: 0) { taken += 16_384 }
        #expect(taken == 1 << 20)
        let later = [
            allowances.takeScarce(16_384, second, now: 0), allowances.takeScarce(16_384, first, now: 30),
            allowances.takeScarce(16_384, first, now: 60),
        ]
        #expect(later == [true, false, true])
        // In a week it gets less than a quarter.
        #expect(168 * (1 << 20) + (1 << 20) < (1 << 30) / 4)
        #expect(allowances.count == 2)
        allowances.forgetFull(now: 100_000)
        #expect(allowances.count == 0)
    }

    @Test("a stopped relay can be inspected and purged")
    func resting() async throws {
        let place = try RelayPlace()
        try await blocking { _ = try Self.make(try RawClient.connected(to: place.relay.address)) }
        let settings = MessageRelaySettings(
            folder: place.folder.path("relay"),
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity, clock: place.clock
        )
        #expect(throws: MessageRelayError.self) { try RestingMessageRelay(settings) }
        await place.stop()
        let resting = try RestingMessageRelay(settings)
        #expect(try await resting.statistics().queues == 1)
        let day = QueuePurge.outOfUse(unused: .seconds(86_400), idle: .seconds(9_999_999))
        #expect(try await resting.purge(day) == 0)
        place.clock.advance(by: .seconds(2 * 86_400))
        #expect(try await resting.purge(day) == 1)
        await resting.close()
        // It was closed.
        await #expect(throws: MessageRelayError.self) { try await resting.statistics() }
    }

    @Test("development database opens")
    func development() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("queues.db")
        try DevelopmentDatabase.make(
            "message-relay", at: path,
            rows: """
                INSERT INTO queue (recipient_id, sender_id, recipient_key, box_secret, used)
                VALUES (x'01', x'02', x'03', zeroblob(32), 86400);
                """)
        let old = try Database(path: path, migrations: QueueRecords.migrations)
        let queue = try old.read { try QueueRecords(connection: $0).queue(ofRecipient: [1]) }
        #expect(queue.map { !$0.isUnused && $0.used == 86_400 } == true)
        let new = try Database(path: folder.path("new.db"), migrations: QueueRecords.migrations)
        #expect(try DevelopmentDatabase.schema(of: old) == DevelopmentDatabase.schema(of: new))
    }
}
