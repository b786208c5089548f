import Base
import Cryptography
import Glibc
import Network
import Posix
import SMP
import Store
import TestSupport
import Testing

@testable import SMPRelay

@Suite("One client among many busy ones")
struct FairnessTests {
    /// A clock that allows a number of reads and then blocks readers until opened.
    private final class CountedClock: WallClock {
        private let left = Lock(0)

        func allow(_ looks: Int) { left.withLock { $0 += looks } }

        func now() -> Timestamp {
            while !left.withLock({ left in
                guard left > 0 else { return false }
                left -= 1
                return true
            }) { usleep(500) }
            return Timestamp(seconds: 1_800_000_000)
        }
    }

    private static func send(to queue: [UInt8], by client: Client) -> QueueService.Job {
        client.asked()
        return .command(
            Request(
                command: .text("hello"), correlationID: SystemRandomSource().bytes(24), entityID: queue,
                signer: nil), client)
    }

    /// A service blocked at its clock, and a queue.
    private static func service(_ folder: TemporaryFolder, _ clock: CountedClock) throws -> QueueService {
        let path = folder.path("queues.db")
        let filling = try Database(path: path, migrations: QueueRecords.migrations)
        try filling.transaction { connection in
            let new = Command.NewQueue(
                recipientKey: SigningKey.generate().publicKey, boxKey: AgreementKey.generate().publicKey,
                subscribes: false, mode: .contact)
            let ids = Answer.QueueIDs(
                recipientID: [UInt8](repeating: 1, count: 24), senderID: queue, boxKey: [], mode: .contact)
            _ = try QueueRecords(connection: connection).insert(
                new, ids, boxSecret: WipedBytes([UInt8](repeating: 3, count: 32)), at: 1_800_000_000)
        }
        filling.close()
        var settings = MessageRelaySettings(
            folder: folder.path,
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity, clock: clock)
        settings.limits.messages = 100_000
        return try QueueService.start(path: path, settings: settings)
    }

    private static let queue = [UInt8](repeating: 2, count: 24)

    @Test("is answered in the first round", arguments: [false, true])
    func firstRound(hasOwnAddress: Bool) async throws {
        let (folder, clock) = (try TemporaryFolder(), CountedClock())
        let service = try Self.service(folder, clock)
        let crowd = PeerAddress([10, 0, 0, 1])
        let clients = try (UInt64(1)...20).map { Client(number: $0, peer: crowd, wakeUp: try WakeUp()) }
        for client in clients {
            service.submit((0..<64).map { _ in Self.send(to: Self.queue, by: client) })
        }
        let honest = Client(
            number: 99, peer: hasOwnAddress ? PeerAddress([10, 0, 0, 2]) : crowd, wakeUp: try WakeUp())
        service.submit([Self.send(to: Self.queue, by: honest)])
        // Enough for several hundred of the 1,281 requests.
        clock.allow(1000)
        try await wait(until: "the last one is answered") { honest.unanswered == 0 }
        #expect(clients.reduce(0) { $0 + $1.unanswered } > 500)
        clock.allow(1_000_000)
        try await wait(until: "all are answered") { clients.allSatisfy { $0.unanswered == 0 } }
        await service.stop()
    }

    @Test("waits for one request of each other client")
    func eachRound() async throws {
        let (folder, clock) = (try TemporaryFolder(), CountedClock())
        let service = try Self.service(folder, clock)
        let client = Client(number: 1, wakeUp: try WakeUp())
        let jobs = (0..<30).map { _ in Self.send(to: Self.queue, by: client) }
        service.submit(jobs)
        clock.allow(1_000_000)
        var answered: [[UInt8]] = []
        try await wait(until: "all are answered") {
            answered += client.take().messages.map(\.correlationID)
            return answered.count == 30
        }
        let asked = jobs.compactMap {
            if case .command(let request, _) = $0 { request.correlationID } else { nil }
        }
        #expect(answered == asked)
        await service.stop()
    }
}
