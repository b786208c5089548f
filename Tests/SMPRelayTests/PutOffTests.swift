import Base
import Cryptography
import Network
import Posix
import Store
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

@Suite("Postponed deliveries")
struct PutOffTests {
    /// A service and requests of its clients, without connections.
    private struct Asking {
        let folder: TemporaryFolder
        let service: QueueService
        private let watcher: Client
        private let key = SigningKey.generate()

        var path: String { folder.path("queues.db") }

        init() throws {
            folder = try TemporaryFolder()
            service = try QueueService.start(
                path: folder.path("queues.db"),
                settings: MessageRelaySettings(
                    folder: folder.path,
                    identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity))
            watcher = Client(number: 1, wakeUp: try WakeUp())
        }

        func job(_ command: Command, of entity: [UInt8] = [], by client: Client) -> QueueService.Job {
            let isOwners: Bool
            switch command {
            case .new, .subscribe: isOwners = true
            default: isOwners = false
            }
            return .command(
                Request(
                    command: command, correlationID: SystemRandomSource().bytes(24), entityID: entity,
                    signer: isOwners ? key.publicKey : nil), client)
        }

        var newQueue: Command {
            .new(
                Command.NewQueue(
                    recipientKey: key.publicKey, boxKey: AgreementKey.generate().publicKey, subscribes: false,
                    mode: .messaging))
        }

        /// Waits until all jobs are done.
        func done(_ jobs: [QueueService.Job]) async throws {
            service.submit(jobs)
            // Jobs of one client keep their order, so this one comes last.
            service.submit([job(.queueInformation, by: watcher)])
            try await wait(until: "it is done") { !watcher.take().messages.isEmpty }
        }
    }

    private static func deliveries(_ messages: [Client.Message]) -> Int {
        messages.count { if case .delivery = $0.content { true } else { false } }
    }

    @Test("are retried after a read error")
    func unreadable() async throws {
        let asking = try Asking()
        let client = Client(number: 1, wakeUp: try WakeUp())
        try await asking.done((0..<9).map { _ in asking.job(asking.newQueue, by: client) })
        let queues = client.take().messages.compactMap { message in
            if case .answer(.created(let ids)) = message.content { ids } else { nil }
        }
        #expect(queues.count == 9)
        try await asking.done(queues.map { asking.job(.text("hello"), of: $0.senderID, by: client) })
        try await asking.done(queues.map { asking.job(.subscribe, of: $0.recipientID, by: client) })
        let first = client.take()
        #expect(Self.deliveries(first.messages) == 8 && first.wasStarved)

        let beside = try Database(path: asking.path, migrations: QueueRecords.migrations)
        try beside.transaction { try $0.execute("ALTER TABLE message RENAME TO elsewhere") }
        try await asking.done([.ready(client)])
        try beside.transaction { try $0.execute("ALTER TABLE elsewhere RENAME TO message") }
        let failed = client.take()
        #expect(failed.messages.isEmpty && failed.wasStarved)
        try await asking.done([.ready(client)])
        let last = client.take()
        #expect(Self.deliveries(last.messages) == 1 && !last.wasStarved)
        await asking.service.stop()
    }
}
