import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Databases replaced by older ones.
@Suite(.timeLimit(.minutes(10))) struct RestorationTests {
    private static func write(_ text: String, _ couple: Couple, byInviter: Bool) async throws -> Int64 {
        try await byInviter
            ? couple.inviter.agent.send(
                bytes(text), to: couple.toJoiner, notifies: false, identifier: nil)
            : couple.joiner.agent.send(
                bytes(text), to: couple.toInviter, notifies: false, identifier: nil)
    }

    /// A couple whose joiner has a backup, and has sent and received since.
    private static func coupleWithBackup(_ relay: MemoryRelay) async throws -> (Couple, [UInt8]) {
        let couple = try await Couple(relay)
        await couple.joiner.end()
        let backup = try couple.joiner.folder.read("connections.db")
        try await couple.joiner.start()
        for number in 0..<3 {
            _ = try await write("\(number)", couple, byInviter: true)
            _ = try await write("\(number)", couple, byInviter: false)
            await couple.joiner.diary.waitForBodies(number + 1)
            await couple.inviter.diary.waitForBodies(number + 1)
        }
        await couple.joiner.end()
        return (couple, backup)
    }

    @Test func newKeysOutwaitMessagesDuringOutage() async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let couple = try await Couple(relay, joiner: Person(relay, clock: clock))
        await couple.joiner.end()
        let away = Set(try (1...4).map { try Known.server($0) })
        relay.setUnreachable(away)
        try await couple.joiner.start(isRestored: true)
        let number = try await Self.write("too late", couple, byInviter: false)
        for _ in 0..<3 { clock.advance(by: .seconds(3 * 86_400)) }
        await couple.joiner.diary.wait {
            $0.contains { $0.content == .messageFailed(message: number, .expired) }
        }
        relay.setUnreachable([])
        _ = try await Self.write("in time", couple, byInviter: false)
        await couple.inviter.diary.wait { events in
            events.contains { event in
                if case .received(let message) = event.content {
                    message.body == bytes("in time")
                } else {
                    false
                }
            }
        }
        await couple.end()
    }

    @Test func restoredKeysSendNothing() async throws {
        let relay = MemoryRelay()
        let (couple, backup) = try await Self.coupleWithBackup(relay)
        await couple.inviter.end()
        try couple.joiner.replaceDatabase(by: backup)
        let (sends, last) = (relay.count("SEND"), await couple.joiner.diary.lastNumber)
        try await couple.joiner.start(after: last, isRestored: true)
        let number = try await Self.write("after", couple, byInviter: false)
        // New keys are sent; messages encrypted with old ones are not.
        try await wait(until: "the keys are sent") { relay.count("SEND") == sends + 1 }
        #expect(await couple.joiner.agent.finishSending(until: .now + .seconds(60)))
        #expect(relay.count("SEND") == sends + 1)
        #expect(try await !couple.joiner.agent.isTried(number))

        // The next process does not send them again.
        try await couple.joiner.restart()
        try await couple.inviter.start()
        await couple.inviter.diary.waitForBodies(4)
        #expect(await couple.inviter.diary.bodies().last == bytes("after"))
        _ = try await Self.write("answer", couple, byInviter: true)
        await couple.joiner.diary.wait { events in
            events.contains { event in
                if case .received(let message) = event.content {
                    message.body == bytes("answer")
                } else {
                    false
                }
            }
        }
        await couple.end()
    }

    /// The joiner is restored and its server has accepted the new keys, but the inviter never gets them.
    private static func coupleWithLostKeys(_ relay: MemoryRelay, _ clock: ManualClock) async throws -> Couple
    {
        let couple = try await Couple(relay, joiner: Person(relay, servers: [2, 4], clock: clock))
        await couple.end()
        let sends = relay.count("SEND")
        try await couple.joiner.start(isRestored: true)
        try await wait(until: "the keys are sent") { relay.count("SEND") == sends + 1 }
        #expect(await couple.joiner.agent.finishSending(until: .now + .seconds(60)))
        relay.loseMessages()
        return couple
    }

    @Test(arguments: [false, true])
    func keysUnfetchedForThreeWeeksAreReplaced(restarts: Bool) async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let couple = try await Self.coupleWithLostKeys(relay, clock)
        try await couple.inviter.start()
        _ = try await Self.write("with the old keys", couple, byInviter: true)
        await couple.joiner.diary.waitForBodies(1)
        clock.advance(by: .seconds(22 * 86_400))
        if restarts { try await couple.joiner.restart() }
        _ = try await Self.write("there", couple, byInviter: false)
        await couple.inviter.diary.waitForBodies(1)
        _ = try await Self.write("back", couple, byInviter: true)
        await couple.joiner.diary.waitForBodies(2)
        await couple.end()
    }

    @Test func unansweredKeysStopAfterLimit() async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let couple = try await Self.coupleWithLostKeys(relay, clock)
        let number = try await Self.write("waits", couple, byInviter: false)
        clock.advance(by: .seconds(22 * 86_400))
        await couple.joiner.diary.wait {
            $0.contains { $0.content == .messageFailed(message: number, .withoutKeys) }
        }
        await couple.joiner.end()
    }

    @Test func deletionWithoutKeysEndsAfterTwoDays() async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let couple = try await Self.coupleWithLostKeys(relay, clock)
        let number = try await Self.write("the last one", couple, byInviter: false)
        try await couple.joiner.agent.delete(couple.toInviter, afterSending: true)
        clock.advance(by: .seconds(3 * 86_400))
        await couple.joiner.diary.wait { events in
            events.contains { $0.content == .messageFailed(message: number, .withoutKeys) }
                && events.contains { $0.content == .deleted }
        }
        await couple.joiner.end()
    }

    @Test func bothSidesRecoverFromRestore() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        await couple.end()
        let backups = try [couple.inviter, couple.joiner].map { try $0.folder.read("connections.db") }
        for person in [couple.inviter, couple.joiner] { try await person.start() }
        _ = try await Self.write("one", couple, byInviter: true)
        await couple.joiner.diary.waitForBodies(1)
        await couple.end()
        for (person, backup) in zip([couple.inviter, couple.joiner], backups) {
            try person.replaceDatabase(by: backup)
            try await person.start(after: await person.diary.lastNumber, isRestored: true)
        }
        _ = try await Self.write("two", couple, byInviter: true)
        _ = try await Self.write("three", couple, byInviter: false)
        await couple.joiner.diary.waitForBodies(2)
        await couple.inviter.diary.waitForBodies(1)
        #expect(await couple.joiner.diary.bodies().last == bytes("two"))
        #expect(await couple.inviter.diary.bodies() == [bytes("three")])
        await couple.end()
    }

    @Test func newDatabaseContinuesEventNumbers() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        for number in 0..<5 { _ = try await Self.write("\(number)", couple, byInviter: true) }
        await couple.joiner.diary.waitForBodies(5)
        let person = couple.joiner
        await person.end()
        try person.replaceDatabase(by: nil)
        let last = await person.diary.lastNumber
        #expect(last > 5)
        try await person.start(after: last)
        let invited = try await couple.inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(1), linkData: nil))
        _ = try await person.agent.join(
            link: invited.links.full.link, information: bytes("again"), confirmation: [])
        await person.diary.wait { $0.contains { $0.number > last && $0.isConnected } }
        #expect(await person.diary.repetitions == 0)
        await couple.end()
    }

    @Test func restoredHandshakeFails() async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay)
        let joiner = try await Person(relay, servers: [2])
        let invited = try await inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(), linkData: nil))
        relay.setUnreachable([try Known.server(2)])
        let connection = try await joiner.agent.join(
            link: invited.links.full.link, information: bytes("joiner"), confirmation: [])
        await joiner.end()
        try await joiner.start(after: 1, isRestored: true)
        await joiner.diary.wait { events in
            events.contains {
                $0.connection == connection && $0.content == .connectionFailed(.restored)
            }
        }
        let error = await #expect(throws: AgentError.self) {
            try await joiner.agent.send(bytes("x"), to: connection, notifies: false, identifier: nil)
        }
        #expect(
            error?.sentence
                == "The connection with this contact could not be made, so nothing can be sent to it."
        )
        await inviter.end()
        await joiner.end()
    }
}

/// Waiting for sendable messages before the end.
@Suite(.timeLimit(.minutes(10))) struct FinishingTests {
    @Test func finishSendingWaitsForSendableMessages() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        await couple.joiner.end()
        relay.setChaos(.init(losesRequests: 4, losesAnswers: 4, delays: 2))
        for number in 0..<20 {
            _ = try await couple.inviter.agent.send(
                bytes("\(number)"), to: couple.toJoiner, notifies: false, identifier: nil)
        }
        #expect(await couple.inviter.agent.finishSending(until: .now + .seconds(60)))
        relay.setChaos(.none)
        #expect(relay.messageCount >= 20)
        await couple.inviter.end()
        try await couple.joiner.start()
        await couple.joiner.diary.waitForBodies(20)
        #expect(await couple.joiner.diary.bodies() == (0..<20).map { bytes("\($0)") })
        await couple.joiner.end()
    }

    @Test func finishSendingEndsAtDeadline() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        // A refusing server causes retries, which do not count if due after the deadline.
        relay.setSilent([try Known.server(2), try Known.server(4)])
        let number = try await couple.inviter.agent.send(
            bytes("x"), to: couple.toJoiner, notifies: false, identifier: nil)
        #expect(await !couple.inviter.agent.finishSending(until: .now + .milliseconds(200)))
        try await wait(until: "it was tried") { try await couple.inviter.agent.isTried(number) }
        relay.setSilent([])
        await couple.end()
    }

    @Test func finishSendingIgnoresRetriesAfterDeadline() async throws {
        let relay = MemoryRelay()
        var times = Known.times
        times.network = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)
        let inviter = try await Person(relay, servers: [1, 3], times: times)
        let couple = try await Couple(relay, inviter: inviter)
        relay.setUnreachable([try Known.server(2), try Known.server(4)])
        _ = try await inviter.agent.send(
            bytes("x"), to: couple.toJoiner, notifies: false, identifier: nil)
        #expect(await inviter.agent.finishSending(until: .now + .seconds(600)))
        await couple.end()
    }
}
