import Base
import Cryptography
import Network
import Posix
import SMP
import SMPClient

/// Our connections and our relay for messages on loopback.
struct MessagesMeasure: Measure {
    let name = "messages"
    let abstract =
        "messages and subscriptions at our relay, its memory with 10,000 queues"

    func take(on stage: Stage) async throws -> [Row] {
        let relay = try await MessageRelay.start(on: stage)
        let figures = ProcessFigures(process: relay.process.identifier)
        let empty = try figures.memory()
        let recipients = try await QueueOwners.make(queues: 10_000, at: relay.server)
        var (subscriptions, memory, sends): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<stage.plan.repetitions {
            subscriptions.append(10_000 / (try await recipients.subscribe()))
            memory.append((try figures.memory() - empty) / 1_048_576)
            sends.append(2000 / (try await recipients.fill(2000)))
        }
        await recipients.close()
        return [
            Row("message-send", "messages of 16 KB that are on disk at the relay", .perSecond, sends),
            Row("message-subscribe", "subscriptions, 135 in a block", .perSecond, subscriptions),
            Row(
                "message-memory", "more memory of the relay with 10,000 queues subscribed", .mebibytes,
                memory),
        ]
    }
}

/// People with many queues, and a sender to all of them.
private struct QueueOwners: Sendable {
    struct Queue: Sendable {
        let recipientID: [UInt8]
        let senderID: [UInt8]
        let key: SigningKey
    }

    private let server: ServerAddress
    private let owners: [(connections: QueueConnections, queues: [Queue])]
    private let sender = QueueConnections(ConnectionSettings(policy: .everything))

    /// The number of queues that a connection may create in an hour.
    private static let queuesEach = 1000

    static func make(queues count: Int, at server: ServerAddress) async throws -> QueueOwners {
        var owners: [(QueueConnections, [Queue])] = []
        for _ in 0..<count / queuesEach {
            let connections = QueueConnections(ConnectionSettings(policy: .everything))
            owners.append((connections, try await makeQueues(connections, server)))
        }
        return QueueOwners(server: server, owners: owners)
    }

    private static func makeQueues(
        _ connections: QueueConnections, _ server: ServerAddress
    ) async throws -> [Queue] {
        let keys = (0..<queuesEach).map { _ in SigningKey.generate() }
        let boxKey = AgreementKey.generate().publicKey
        let requests = keys.map { key in
            ClientRequest(
                .new(
                    .init(
                        recipientKey: key.publicKey, boxKey: boxKey, subscribes: false, mode: .messaging)),
                key: .signing(key), timeout: .seconds(120))
        }
        return try await zip(keys, connections.ask(requests, of: server)).map { key, answer in
            guard case .created(let ids) = try answer.get() else {
                throw BenchError(.failed, "The relay made no queue.")
            }
            return Queue(recipientID: ids.recipientID, senderID: ids.senderID, key: key)
        }
    }

    /// Subscribes to all queues, all owners at once. Returns the seconds.
    func subscribe() async throws -> Double {
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for owner in owners {
                group.addTask {
                    let requests = owner.queues.map {
                        ClientRequest(
                            .subscribe, of: $0.recipientID, key: .signing($0.key), timeout: .seconds(120))
                    }
                    for answer in await owner.connections.ask(requests, of: server) {
                        guard try answer.get() == .subscribed else {
                            throw BenchError(.failed, "The relay refused a subscription.")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return start.duration(to: .now) / .seconds(1)
    }

    /// Sends a message to each of `count` queues at once. Returns the seconds until the last was acknowledged.
    func fill(_ count: Int) async throws -> Double {
        let body = [UInt8](repeating: 7, count: 16_043)
        let requests = owners.flatMap(\.queues).prefix(count).map {
            ClientRequest(
                .send(flags: [UInt8(ascii: "T")], body: body), of: $0.senderID, timeout: .seconds(120))
        }
        let start = ContinuousClock.now
        for answer in await sender.ask(Array(requests), of: server) {
            guard try answer.get() == .ok else { throw BenchError(.failed, "The relay took no message.") }
        }
        return start.duration(to: .now) / .seconds(1)
    }

    func close() async {
        await sender.close()
        for owner in owners { await owner.connections.close() }
    }
}
