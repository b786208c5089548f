import Posix
import SMP
import TestSupport
import Testing

@testable import Agent
@testable import Store

/// Damaged rows: keys of wrong lengths, unknown words.
@Suite(.timeLimit(.minutes(10))) struct DamagedKeysTests {
    @Test(
        "damaged sending key fails instead of waiting",
        arguments: ["authorization_seed", "queue_key"])
    func sending(column: String) async throws {
        let couple = try await Couple(MemoryRelay())
        await couple.joiner.end()
        try Connection(path: couple.joiner.path, key: nil)
            .execute("UPDATE sending_queue SET \(column) = x'0102'")
        try await couple.joiner.start(after: couple.joiner.diary.lastNumber)
        let error = await #expect(throws: AgentError.self) {
            try await couple.joiner.agent.send(
                Array("hello".utf8), to: couple.toInviter, notifies: false, identifier: nil)
        }
        #expect(error?.code == AgentError.damagedState.code)
        await couple.joiner.end()
        await couple.inviter.end()
    }

    private static let damages = [
        "UPDATE sending_queue SET queue_key = x'0102'",
        "UPDATE receiving_queue SET authorization_seed = x'0102'",
        "UPDATE receiving_queue SET server = 'nowhere'",
        "UPDATE connection SET synchronisation = 'nonsense'",
    ]

    @Test(
        "damaged connection does not affect other connections",
        arguments: damages.indices, [false, true])
    func others(damage: Int, isRestored: Bool) async throws {
        let relay = MemoryRelay()
        let alice = try await Person(relay, servers: [2])
        var couples: [Couple] = []
        for _ in 0..<3 { couples.append(try await Couple(relay, joiner: alice)) }
        await alice.end()
        let broken = couples[1].toInviter
        let column = Self.damages[damage].hasPrefix("UPDATE connection ") ? "id" : "connection"
        do {
            let database = try Connection(path: alice.path, key: nil)
            try database.execute(Self.damages[damage] + " WHERE \(column) = ?", broken.number)
            // Another program has taken over queues meanwhile.
            try database.execute(
                "UPDATE receiving_queue SET is_taken_over = 1 WHERE connection != ? OR ?", broken.number,
                !isRestored)
        }
        try await alice.start(after: alice.diary.lastNumber, isRestored: isRestored)

        for couple in [couples[0], couples[2]] {
            _ = try await alice.agent.send(
                bytes("from alice"), to: couple.toInviter, notifies: false, identifier: nil)
            await couple.inviter.diary.waitForBodies(1)
            _ = try await couple.inviter.agent.send(
                bytes("to alice"), to: couple.toJoiner, notifies: false, identifier: nil)
        }
        await alice.diary.waitForBodies(2)
        let error = await #expect(throws: AgentError.self) {
            try await alice.agent.send(bytes("lost"), to: broken, notifies: false, identifier: nil)
        }
        #expect(error?.code == .damaged)
        let usable = Set(couples.map(\.toInviter)).subtracting([broken])
        #expect(try await Set(alice.agent.connections().map(\.id)) == usable)
        await alice.end()
        for couple in couples { await couple.inviter.end() }
    }

    @Test("messages of a damaged connection take no room")
    func room() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("connections.db")
        let store = try AgentStore(
            path: path, key: nil, tools: MachineSide.tools(seed: 1), clock: ManualClock())
        let server = try Known.server()
        var queue = ReceivingQueue.fresh(server: server, mode: .contact, random: SeededBytes(2))
        (queue.status, queue.recipientID) = (.active, [UInt8](repeating: 3, count: 24))
        let address = ConnectionState(phase: .address, information: [], receiving: [queue])
        _ = try store.change { try $0.insert(address) }
        let receiver = Receiver(
            work: StoreWork(store: store, pool: .shared, log: Log("agent")),
            servers: MemoryServers(MemoryRelay()), times: Known.times, log: Log("agent"),
            follow: { _ in }, subscribeAgain: { _ in })
        let place = Subscriptions.Queue(server: server, recipientID: queue.recipientID)
        for number in UInt8(1)...2 { receiver.append(messageID: [number], body: [number], to: place) }
        try Connection(path: path, key: nil)
            .execute("UPDATE receiving_queue SET authorization_seed = x'0102'")
        #expect(receiver.waitingBodies == 2)
        for _ in 0..<2 { _ = await receiver.work(place) }
        #expect(receiver.waitingBodies == 0)
        store.close()
    }

    @Test("damaged event is skipped and later ones arrive")
    func events() async throws {
        let couple = try await Couple(MemoryRelay())
        let database = try Connection(path: couple.joiner.path, key: nil)
        func count() throws -> Int64? {
            try database.first("SELECT count(*) AS count FROM event") { $0.integer("count") }
        }
        try await wait(until: "the events of connecting are taken") { try count() == 0 }
        await couple.joiner.end()
        try await couple.joiner.start(takes: false)
        for text in ["one", "two", "three"] {
            _ = try await couple.inviter.agent.send(
                bytes(text), to: couple.toJoiner, notifies: false, identifier: nil)
        }
        await couple.joiner.diary.waitForBodies(3)
        await couple.joiner.end()
        try database.execute(
            "UPDATE event SET detail = 'half' WHERE number = (SELECT min(number) FROM event)")
        #expect(try count() == 3)
        try await couple.joiner.start()
        try await wait(until: "the others are taken") { try count() == 0 }
        #expect(await couple.joiner.diary.repetitions == 2)
        await couple.end()
    }
}
