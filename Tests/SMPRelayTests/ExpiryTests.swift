import Base
import Cryptography
import Glibc
import Network
import Posix
import Store
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

@Suite("Expired messages")
struct ExpiryTests {
    /// A clock that blocks its readers until it is started.
    private final class HeldClock: WallClock {
        private let isWound = Lock(false)

        func windUp() { isWound.withLock { $0 = true } }

        func now() -> Timestamp {
            while !isWound.withLock({ $0 }) { usleep(1000) }
            return Timestamp(seconds: 1_800_000_000)
        }
    }

    @Test("are deleted in batches between requests")
    func answersInBetween() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("queues.db")
        let sender = [UInt8](repeating: 2, count: 24)
        let count = 2000
        let filling = try Database(path: path, migrations: QueueRecords.migrations)
        try filling.transaction { connection in
            let records = QueueRecords(connection: connection)
            let new = Command.NewQueue(
                recipientKey: SigningKey.generate().publicKey, boxKey: AgreementKey.generate().publicKey,
                subscribes: false, mode: .messaging)
            let ids = Answer.QueueIDs(
                recipientID: [UInt8](repeating: 1, count: 24), senderID: sender, boxKey: [], mode: .messaging)
            let queue = try #require(
                try records.insert(
                    new, ids, boxSecret: WipedBytes([UInt8](repeating: 3, count: 32)),
                    at: 1_800_000_000))
            for _ in 0..<count { try records.append(.quota(received: 1000), id: [4], to: queue) }
        }
        filling.close()
        let clock = HeldClock()
        let settings = MessageRelaySettings(
            folder: folder.path,
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity,
            clock: clock)
        // The service searches for expired messages first, and the clock blocks it there until requests wait.
        let service = try QueueService.start(path: path, settings: settings)
        let client = Client(number: 1, wakeUp: try WakeUp())
        let command = Command.text("hello")
        let request = Request(
            command: command, correlationID: [UInt8](repeating: 5, count: 24), entityID: sender, signer: nil)
        service.submit([.command(request, client)])
        clock.windUp()
        var answers: [Answer] = []
        try await wait(until: "it is answered") {
            for message in client.take().messages {
                if case .answer(let answer) = message.content { answers.append(answer) }
            }
            return !answers.isEmpty
        }
        // Its queue was full of expired messages.
        #expect(answers == [.error(.quota)])
        await service.stop()
    }

    @Test("are all deleted without any request")
    func allGo() async throws {
        let place = try RelayPlace()
        let ids = try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            guard case .created(let ids) = try client.makeQueue(subscribes: false).answer else {
                throw WaitedInVain("a queue")
            }
            return ids
        }
        await place.stop()
        let database = try Database(path: place.recordsPath, migrations: QueueRecords.migrations)
        try database.transaction { connection in
            let records = QueueRecords(connection: connection)
            let queue = try #require(try records.queue(ofSender: ids.senderID))
            for _ in 0..<1000 { try records.append(.quota(received: 1000), id: [4], to: queue.id) }
        }
        var settings = MessageRelaySettings(
            folder: place.folder.path("relay"),
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity,
            clock: place.clock)
        settings.expiry = .seconds(60)
        let relay = try MessageRelay.start(settings)
        try await wait(until: "they are gone") {
            try database.read { try QueueRecords(connection: $0).messageCount(of: 1) } == 0
        }
        await relay.stop()
    }
}
