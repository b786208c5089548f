import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// A server that repeats old messages and invents times.
@Suite(.timeLimit(.minutes(10))) struct HostileServerTests {
    /// Returns a connected couple and messages to the inviter that its server withheld until the keys
    /// changed.
    private static func withOldMessages(
        _ count: Int, _ relay: MemoryRelay, _ clock: ManualClock
    ) async throws -> (Couple, [(senderID: [UInt8], body: DeliveredBody)]) {
        let couple = try await Couple(relay, inviter: Person(relay, servers: [1, 3], clock: clock))
        relay.withhold(at: try Known.server(1))
        for number in 0..<count {
            _ = try await couple.joiner.agent.send(
                bytes("\(number)"), to: couple.toInviter, notifies: false, identifier: nil)
        }
        try await wait(until: "the server has them") {
            relay.withheldCount(at: (try? Known.server(1)) ?? couple.inviter.settings.servers[0]) == count
        }
        let old = relay.endWithholding(at: try Known.server(1))
        try await couple.joiner.agent.resynchronise(couple.toInviter)
        await waitUntilSynchronised(couple.inviter, times: 1)
        await waitUntilSynchronised(couple.joiner, times: 1)
        return (couple, old)
    }

    private static func waitUntilSynchronised(_ person: Person, times: Int) async {
        await person.diary.wait { events in
            events.filter { $0.condition?.synchronisation == .synchronised }.count >= times
        }
    }

    private static func begun(_ person: Person) async -> Int {
        await person.diary.events.filter { $0.condition?.synchronisation == .started }.count
    }

    /// Delivers a message and waits until a later one is processed.
    private static func deliver(
        _ old: (senderID: [UInt8], body: DeliveredBody), at time: Int64, to couple: Couple,
        _ relay: MemoryRelay
    ) async throws {
        relay.deliver(old, at: time)
        try await wait(until: "it was taken in", within: .seconds(30)) { relay.messageCount == 0 }
    }

    @Test func serverTimesCannotExceedKeyAgreementLimit() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let (couple, old) = try await Self.withOldMessages(12, relay, clock)
        for (round, message) in old.enumerated() {
            try await Self.deliver(
                message, at: 1_700_000_000 + Int64(round + 1) * 2 * 86_400, to: couple, relay)
        }
        #expect(await Self.begun(couple.inviter) <= 3)
        await couple.end()
    }

    @Test func replayedMessageTriggersOneKeyAgreement() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let (couple, old) = try await Self.withOldMessages(1, relay, clock)
        try await Self.deliver(old[0], at: 1_700_000_000, to: couple, relay)
        await couple.inviter.diary.wait { $0.contains { $0.condition?.synchronisation == .started } }
        await Self.waitUntilSynchronised(couple.inviter, times: 2)
        for round in 1...5 {
            // Days by the own clock too; only the message's hash is known.
            clock.advance(by: .seconds(2 * 86_400))
            try await Self.deliver(old[0], at: 1_700_000_000 + Int64(round), to: couple, relay)
        }
        #expect(await Self.begun(couple.inviter) == 1)
        await couple.end()
    }

    @Test func rateLimitSurvivesRestartAndReboot() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let (couple, old) = try await Self.withOldMessages(8, relay, clock)
        for (round, message) in old.enumerated() {
            try await couple.inviter.restart()
            // Independent of the wall clock.
            if round % 2 == 1 {
                await couple.inviter.end()
                clock.restartMachine(as: "boot \(round)")
                try await couple.inviter.start()
            }
            try await Self.deliver(
                message, at: 1_700_000_000 + Int64(round + 1) * 30 * 86_400, to: couple, relay)
        }
        #expect(await Self.begun(couple.inviter) <= 3)
        await couple.end()
    }

    @Test func keyAgreementLimitExpiresAfterADay() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let (couple, old) = try await Self.withOldMessages(5, relay, clock)
        for message in old.prefix(4) {
            try await Self.deliver(message, at: 1_700_000_000, to: couple, relay)
        }
        let before = await Self.begun(couple.inviter)
        #expect(before <= 3)
        clock.advance(by: .seconds(86_400))
        try await Self.deliver(old[4], at: 1_700_000_000, to: couple, relay)
        try await wait(until: "it agrees on new keys", within: .seconds(30)) {
            await Self.begun(couple.inviter) > before
        }
        await couple.end()
    }
}

/// The database's clock and the retention based on it.
@Suite struct StoredClockTests {
    private static func store(_ path: String, _ clock: ManualClock) throws -> AgentStore {
        try AgentStore(path: path, key: nil, tools: MachineSide.tools(seed: 1), clock: clock)
    }

    @Test func storedClockCountsOnlyUptime() throws {
        let (folder, clock) = (try TemporaryFolder(), ManualClock())
        let path = folder.path("connections.db")
        func seconds(_ store: AgentStore) throws -> Int64 { try store.change { $0.now.seconds }.0 }
        var store = try Self.store(path, clock)
        #expect(try seconds(store) == 0)
        clock.advance(by: .seconds(900))
        #expect(try seconds(store) == 900)
        store.close()
        clock.advance(by: .seconds(100))
        store = try Self.store(path, clock)
        #expect(try seconds(store) == 1000)
        clock.advance(by: .seconds(100))
        #expect(try seconds(store) == 1100)
        store.close()
        clock.restartMachine(as: "second")
        store = try Self.store(path, clock)
        // Unrecorded time is lost, but never counted twice.
        #expect(try seconds(store) == 1000)
        clock.advance(by: .seconds(50))
        #expect(try seconds(store) == 1050)
        store.close()
    }

    @Test func messageHashesSurviveReboots() throws {
        let (folder, clock) = (try TemporaryFolder(), ManualClock())
        let path = folder.path("connections.db")
        func remember(_ hash: UInt8, of id: ConnectionID, in store: AgentStore) throws {
            _ = try store.change { try $0.step(id) { $0.emit(.remember(hash: [hash])) } }
        }
        var store = try Self.store(path, clock)
        let id = try store.change {
            try $0.insert(ConnectionState(phase: .address, information: [], receiving: []))
        }.0
        try remember(1, of: id, in: store)
        for number in 0..<40 {
            store.close()
            clock.restartMachine(as: "\(number)")
            store = try Self.store(path, clock)
            clock.advance(by: .seconds(3600))
            try remember(2, of: id, in: store)
        }
        #expect(try store.read { try $0.isKnown([1], of: id) })
        clock.advance(by: AgentStore.receivedAge)
        try remember(2, of: id, in: store)
        #expect(try !store.read { try $0.isKnown([1], of: id) })
        store.close()
    }
}
