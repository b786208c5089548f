import Base
import Cryptography
import Network
import Posix
import Store
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

@Suite("Deliveries without capacity")
struct DeliveryCapacityTests {
    private static func waiting(_ queues: Range<Int64>) throws -> (Client, Deliveries) {
        let client = Client(number: 1, wakeUp: try WakeUp())
        var deliveries = Deliveries()
        for queue in queues { #expect(deliveries.subscribe(client, to: queue) == nil) }
        for queue in queues { _ = deliveries.begin(queue) }
        deliveries.commit()
        return (client, deliveries)
    }

    @Test("deleted queues do not block others")
    func goneMeanwhile() throws {
        var (client, deliveries) = try Self.waiting(0..<14)
        #expect((8..<14).allSatisfy { deliveries.isWaiting($0) } && !deliveries.isWaiting(7))
        // One queue is deleted, one subscribed again, and one subscribed by another client.
        let other = Client(number: 2, wakeUp: try WakeUp())
        #expect(deliveries.unsubscribe(8) === client)
        #expect(deliveries.subscribe(client, to: 9) == nil)
        #expect(deliveries.subscribe(other, to: 10) === client)
        #expect(deliveries.ready(client, atMost: 1) == [11])
        #expect(deliveries.ready(client, atMost: 5) == [12, 13])
        #expect(deliveries.ready(client, atMost: 5).isEmpty)
        #expect(deliveries.ready(other, atMost: 5).isEmpty)
    }

    @Test("a rollback restores the waiting queues")
    func rolledBack() throws {
        var (client, deliveries) = try Self.waiting(0..<11)
        #expect(deliveries.ready(client, atMost: 2) == [8, 9])
        _ = deliveries.unsubscribe(10)
        deliveries.rollBack()
        #expect((8..<11).allSatisfy { deliveries.isWaiting($0) })
        #expect(Set(deliveries.ready(client, atMost: 9)) == [8, 9, 10])
        #expect(deliveries.ready(client, atMost: 9).isEmpty)
    }

    @Test("a queue waits once, however often it is subscribed")
    func repeated() throws {
        var (client, deliveries) = try Self.waiting(0..<14)
        for _ in 0..<100 {
            for queue in Int64(8)..<14 {
                #expect(deliveries.subscribe(client, to: queue) == nil)
                #expect(deliveries.begin(queue) == nil)
            }
            deliveries.commit()
        }
        #expect(deliveries.waitingCount == 6)
        #expect(deliveries.ready(client, atMost: 4) == [8, 9, 10, 11])
        // It waits behind the others now.
        #expect(deliveries.begin(9) == nil)
        #expect(deliveries.ready(client, atMost: 100) == [12, 13, 9])
        #expect(deliveries.waitingCount == 0)
    }

    @Test("they are removed with their client")
    func gone() throws {
        var (client, deliveries) = try Self.waiting(0..<11)
        deliveries.remove(client)
        deliveries.commit()
        #expect(deliveries.count == 0)
        #expect(deliveries.ready(client, atMost: 9).isEmpty)
        let begun = (Int64(0)..<11).compactMap { deliveries.begin($0) }
        #expect(begun.isEmpty)
    }

    @Test("an unreadable message releases its capacity")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.path("queues.db"), migrations: QueueRecords.migrations)
        let settings = MessageRelaySettings(
            folder: folder.path,
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity)
        var processor = CommandProcessor(settings: settings, used: 0)
        let client = Client(number: 1, wakeUp: try WakeUp())
        let (key, box) = (SigningKey.generate(), AgreementKey.generate())
        func request(_ command: Command, of entity: [UInt8]) -> Request {
            Request(
                command: command, correlationID: SystemRandomSource().bytes(24), entityID: entity,
                signer: key.publicKey)
        }
        let new = Command.NewQueue(
            recipientKey: key.publicKey, boxKey: box.publicKey, subscribes: false, mode: .messaging)
        try database.transaction {
            try processor.perform(
                request(.new(new), of: []), of: client, QueueRecords(connection: $0))
        }
        guard case .answer(.created(let ids))? = processor.commit().first?.message.content else {
            throw WaitedInVain("a queue")
        }
        for _ in 0..<9 {
            #expect(throws: StoreError.self) {
                try database.transaction { connection in
                    try connection.execute("ALTER TABLE message RENAME TO elsewhere")
                    try processor.perform(
                        request(.subscribe, of: ids.recipientID), of: client,
                        QueueRecords(connection: connection))
                }
            }
            processor.rollBack()
        }
        let reserved = (0..<9).map { _ in client.reserveDelivery() }
        #expect(reserved == Array(repeating: true, count: 8) + [false])
    }
}

@Suite("Allowances of an address")
struct AllowanceTests {
    @Test("the hourly amount is available at once and refills")
    func queues() {
        var allowance = RateAllowance(60, now: 1000)
        let first = (0..<61).map { _ in allowance.take(now: 1000) }
        #expect(first == Array(repeating: true, count: 60) + [false])
        let minutes = [59, 60, 60, 119, 120].map { allowance.take(now: 1000 + $0) }
        #expect(minutes == [false, true, false, false, true])
        // Much later, no more than at first.
        let later = (0..<61).map { _ in allowance.take(now: 90_000) }
        #expect(later == first)
        // A clock set back gives nothing and takes nothing permanently.
        let setBack = [100, 159, 160].map { allowance.take(now: $0) }
        #expect(setBack == [false, false, true])
    }

    @Test("disk use is exact and follows rollbacks")
    func disk() {
        var disk = DiskUse(limit: 1000, bytes: 600)
        #expect(throws: Never.self) { try disk.require(400) }
        #expect(throws: ServerError.quota) { try disk.require(401) }
        #expect(throws: ServerError.quota) { try disk.require(.max) }
        disk.add(400)
        #expect(throws: ServerError.quota) { try disk.require(1) }
        disk.rollBack()
        #expect(disk.bytes == 600)
        disk.add(100)
        disk.commit()
        disk.remove(50)
        disk.rollBack()
        #expect(disk.bytes == 700)
        disk.remove(5000)
        #expect(disk.bytes == 0)
        let unlimited = DiskUse(limit: nil, bytes: .max - 1)
        #expect(throws: Never.self) { try unlimited.require(1) }
        #expect(throws: ServerError.quota) { try unlimited.require(2) }
        #expect(DiskUse.message([1, 2]) == 258 && DiskUse.link(nil) == 0)
        #expect(DiskUse.link(LinkBlobs(fixed: [1], user: [2, 3])) == 3)
    }
}
