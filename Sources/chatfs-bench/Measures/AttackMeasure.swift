import Cryptography
import Glibc
import Posix
import SMP

/// The delay of an honest client during attacks on a relay, and the relay's memory.
struct AttackMeasure: Measure {
    let name = "attack"
    let abstract =
        "a relay for messages attacked over 64 and 400 connections: waiting times of an honest client, memory"
    let limit = Duration.seconds(600)

    private static let time = Duration.seconds(15)

    func take(on stage: Stage) async throws -> [Row] {
        let relay = try await MessageRelay.start(on: stage)
        let figures = ProcessFigures(process: relay.process.identifier)
        let honest = try await ThreadPool.shared.run { Honest(try RelayClient(relay.server)) }
        var rows: [Row] = []
        for connections in [0, 64, 400] {
            let attack = RelayAttack(.signatures, connections: connections, time: Self.time)
            if connections > 0 { try await attack.begin(relay.server) }
            rows += try await ask(honest, beside: connections, stage)
            if connections > 0 { try await attack.ended() }
        }
        let queue = try await ThreadPool.shared.run { try honest.client.contactQueue() }
        let attack = RelayAttack(.unansweredSends(to: queue), connections: 500, time: .seconds(20))
        try await attack.begin(relay.server)
        rows += try await ask(honest, beside: 500, stage)
        try await attack.ended()
        let peak = try figures.peakMemory() / 1_048_576
        try await Task.sleep(for: .seconds(60))
        rows.append(
            Row(
                "attack-memory-peak", "the most memory of the relay", .mebibytes, [peak], target: .atMost(200)
            ))
        rows.append(
            Row(
                "attack-memory", "its memory a minute after the attacks", .mebibytes,
                [try figures.memory() / 1_048_576], target: .atMost(64)))
        return rows
    }

    /// Used on one thread after another.
    private final class Honest: @unchecked Sendable {
        let client: RelayClient
        init(_ client: RelayClient) { self.client = client }
    }

    private func ask(_ honest: Honest, beside connections: Int, _ stage: Stage) async throws -> [Row] {
        let (pings, queues, sends) = try await ThreadPool.shared.run {
            let target = try honest.client.contactQueue()
            var (pings, queues, sends): ([Double], [Double], [Double]) = ([], [], [])
            for _ in 0..<40 {
                pings.append(try honest.client.latency(ClientRequest(.ping)))
                usleep(20_000)
            }
            for _ in 0..<10 {
                let key = SigningKey.generate()
                let new = Command.NewQueue(
                    recipientKey: key.publicKey, boxKey: AgreementKey.generate().publicKey, subscribes: false,
                    mode: .messaging)
                queues.append(try honest.client.latency(ClientRequest(.new(new), key: .signing(key))))
                sends.append(
                    try honest.client.latency(
                        ClientRequest(
                            .send(flags: [], body: [UInt8](repeating: 1, count: 16_000)), of: target)))
                usleep(20_000)
            }
            return (pings, queues, sends)
        }
        try stage.check()
        let name = "attack-\(connections)"
        let title = connections == 0 ? "without an attack" : "beside \(connections) attackers"
        return [
            Row("\(name)-ping", "PING \(title)", .milliseconds, pings, target: .atMost(100)),
            Row(
                "\(name)-ping-worst", "the slowest PING", .milliseconds, [pings.max() ?? 0],
                target: .atMost(1000)),
            Row("\(name)-new", "NEW \(title)", .milliseconds, queues),
            Row("\(name)-new-worst", "the slowest NEW", .milliseconds, [queues.max() ?? 0]),
            Row("\(name)-send", "SEND of 16 KiB \(title)", .milliseconds, sends),
            Row("\(name)-send-worst", "the slowest SEND", .milliseconds, [sends.max() ?? 0]),
        ]
    }
}
