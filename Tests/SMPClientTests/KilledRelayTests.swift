import Base
import Cryptography
import Glibc
import SMP
import TestSupport
import Testing

@testable import SMPClient

/// Runs the relay as users do: as a process that can be killed.
@Suite("A relay that is killed")
struct KilledRelayTests {
    private func start(_ folder: TemporaryFolder) async throws -> (
        process: RunningProcess, server: ServerAddress
    ) {
        let process = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let line = try await wait(for: "the address for messages") {
            process.lines.first { $0.hasPrefix("smp://") }
        }
        guard let server = ServerAddress(line), server.text == line else {
            throw WaitedInVain("no bare address: \(line)")
        }
        return (process, server)
    }

    @Test("delivers every acknowledged message of 1,000 in order")
    func acknowledgedMessagesSurvive() async throws {
        let folder = try TemporaryFolder()
        let (first, server) = try await start(folder)
        let (alice, bob) = (Person(), Person())
        var queues: [Queue] = []
        for _ in 0..<10 { queues.append(try await alice.makeQueue(server, subscribes: false)) }
        // A hundred pending messages for each queue.
        let requests = (0..<1000).map { number in
            ClientRequest(
                .text("\(number / 10)"), of: queues[number % 10].ids.senderID, timeout: .seconds(60))
        }
        let answered = Lock(0)
        let senders = queues.indices.map { index in
            Task { () -> [Int] in
                var kept: [Int] = []
                for (number, request) in requests.enumerated() where number % 10 == index {
                    guard let answer = try? await bob.connections.ask(request, of: server) else { break }
                    if answer == .ok { kept.append(number / 10) }
                    answered.withLock { $0 += 1 }
                }
                return kept
            }
        }
        try await wait(until: "some were acknowledged") { answered.withLock { $0 } > 200 }
        first.send(SIGKILL)
        _ = try await first.ending()
        await bob.connections.close()
        var kept: [[Int]] = []
        for sender in senders { kept.append(await sender.value) }
        #expect(kept.joined().count > 200)

        let (second, again) = try await start(folder)
        #expect(again == server)
        for answer in await alice.connections.ask(queues.map(\.subscription), of: server) {
            #expect(try answer.get() == .subscribed)
        }
        for (queue, expected) in zip(queues, kept) {
            for number in expected {
                let message = try await alice.message(of: queue)
                #expect(message.body.text == "\(number)")
                try await alice.ask(
                    .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key, server)
            }
        }
        try await second.terminate()
    }
}
