import Base
import Glibc
import Posix
import SMP
import TestSupport
import Testing

@testable import Agent

/// Established connections: rotation, resynchronisation, full queues and deletion.
@Suite(.timeLimit(.minutes(10))) struct ConnectionLifeTests {
    /// Sends a message in each direction and waits for both.
    private static func converse(_ couple: Couple, _ text: String) async throws {
        let before = await (couple.inviter.diary.bodies().count, couple.joiner.diary.bodies().count)
        _ = try await couple.inviter.agent.send(
            bytes("\(text) 1"), to: couple.toJoiner, notifies: false, identifier: nil)
        _ = try await couple.joiner.agent.send(
            bytes("\(text) 2"), to: couple.toInviter, notifies: false, identifier: nil)
        await couple.inviter.diary.waitForBodies(before.0 + 1)
        await couple.joiner.diary.waitForBodies(before.1 + 1)
        #expect(await couple.inviter.diary.bodies().last == bytes("\(text) 2"))
        #expect(await couple.joiner.diary.bodies().last == bytes("\(text) 1"))
    }

    @Test func rotationToAnotherServerKeepsMessagesFlowing() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        relay.setChaos(.init(losesAnswers: 30, delays: 3))
        try await Self.converse(couple, "before")
        try await couple.inviter.agent.rotate(couple.toJoiner, to: Known.server(3))
        for number in 0..<100 {
            _ = try await couple.joiner.agent.send(
                bytes("\(number)"), to: couple.toInviter, notifies: false, identifier: nil)
        }
        await couple.inviter.diary.wait { $0.contains { $0.condition?.isRotating == true } }
        await couple.inviter.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.isRotating == false
        }
        await couple.inviter.diary.waitForBodies(101)
        #expect(
            await couple.inviter.diary.bodies().dropFirst().elementsEqual((0..<100).map { bytes("\($0)") }))
        // Queues whose creation reply was lost stay on the relay.
        try await wait(until: "the old queue is deleted") { relay.count("DEL") > 0 }
        #expect(try await couple.inviter.agent.connections()[0].servers == [Known.server(3)])
        relay.setUnreachable([try Known.server(1)])
        try await couple.inviter.restart()
        try await Self.converse(couple, "after")
        // The peer's queues too.
        try await couple.joiner.agent.rotate(couple.toInviter, to: nil)
        await couple.joiner.diary.wait { $0.contains { $0.condition?.isRotating == true } }
        await couple.joiner.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.isRotating == false
        }
        try await Self.converse(couple, "at last")
        await couple.end()
    }

    @Test(arguments: [true, false]) func eitherSideCanResynchronise(byInviter: Bool) async throws {
        let couple = try await Couple(MemoryRelay())
        try await Self.converse(couple, "before")
        let code = try await couple.inviter.agent.security(of: couple.toJoiner)?.code
        let (person, connection) =
            byInviter ? (couple.inviter, couple.toJoiner) : (couple.joiner, couple.toInviter)
        try await person.agent.resynchronise(connection)
        for person in [couple.inviter, couple.joiner] {
            await person.diary.wait { events in
                events.contains { $0.condition?.synchronisation == .agreed }
                    && events.last { $0.condition != nil }?.condition?.synchronisation == .synchronised
            }
        }
        try await Self.converse(couple, "after")
        let codes = try await (
            couple.inviter.agent.security(of: couple.toJoiner)?.code,
            couple.joiner.agent.security(of: couple.toInviter)?.code
        )
        #expect(codes.0 == codes.1 && codes.0 != code)
        await couple.end()
    }

    @Test func simultaneousResynchronisationSucceeds() async throws {
        let couple = try await Couple(MemoryRelay())
        async let one: Void = couple.inviter.agent.resynchronise(couple.toJoiner)
        async let other: Void = couple.joiner.agent.resynchronise(couple.toInviter)
        _ = try await (one, other)
        // Messages sent meanwhile wait for the keys.
        try await Self.converse(couple, "after")
        await couple.end()
    }

    @Test func restoredBackupResynchronisesAutomatically() async throws {
        let couple = try await Couple(MemoryRelay())
        try await Self.converse(couple, "before the backup")
        let folder = couple.joiner.folder
        await couple.joiner.end()
        let backup = try folder.read("connections.db")
        try await couple.joiner.start()
        for number in 0..<4 { try await Self.converse(couple, "lost \(number)") }
        await couple.joiner.end()
        try couple.joiner.replaceDatabase(by: backup)
        // The application's last event number is as old as the backup.
        await couple.joiner.diary.restore()
        try await couple.joiner.start()

        let unreadable = try await couple.inviter.agent.send(
            bytes("unreadable"), to: couple.toJoiner, notifies: false, identifier: nil)
        // Recovers without any action of the application.
        await couple.joiner.diary.wait { $0.contains { $0.condition?.synchronisation == .started } }
        for person in [couple.inviter, couple.joiner] {
            await person.diary.wait { events in
                events.contains { $0.condition?.synchronisation == .agreed }
                    && events.last { $0.condition != nil }?.condition?.synchronisation == .synchronised
            }
        }
        // The sender learns of each unreadable message unless it was encrypted again in time.
        try await wait(until: "the message failed or came", within: .seconds(20)) {
            let failed = AgentEvent.Content.messageFailed(message: unreadable, .unreadable)
            if await couple.inviter.diary.events.contains(where: { $0.content == failed }) { return true }
            return await couple.joiner.diary.bodies().contains(bytes("unreadable"))
        }
        try await Self.converse(couple, "after")
        await couple.end()
    }

    @Test func fullQueueResumesAfterDraining() async throws {
        let relay = MemoryRelay(quota: 5)
        let couple = try await Couple(relay)
        await couple.joiner.end()
        for number in 0..<20 {
            _ = try await couple.inviter.agent.send(
                bytes("\(number)"), to: couple.toJoiner, notifies: false, identifier: nil)
        }
        await couple.inviter.diary.wait { events in
            events.contains { if case .delayed(_, .queueFull) = $0.content { true } else { false } }
        }
        try await couple.joiner.start()
        await couple.joiner.diary.waitForBodies(20)
        #expect(await couple.joiner.diary.bodies() == (0..<20).map { bytes("\($0)") })
        await couple.end()
    }

    @Test func expiredMessageFailsAndNextIsTried() async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let inviter = try await Person(relay, clock: clock)
        let couple = try await Couple(relay, inviter: inviter)
        relay.setUnreachable([try Known.server(2), try Known.server(4)])
        let number = try await inviter.agent.send(
            bytes("late"), to: couple.toJoiner, notifies: false, identifier: nil)
        let tries = relay.count("SEND")
        try await wait(until: "it was tried") {
            let stored = try await inviter.agent.isTried(number)
            return stored && relay.count("SEND") == tries
        }
        clock.advance(by: .seconds(2 * 86_400 + 1))
        await inviter.diary.wait { $0.contains { $0.content == .messageFailed(message: number, .expired) } }
        relay.setUnreachable([])
        _ = try await inviter.agent.send(
            bytes("in time"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(1)
        let integrities = await couple.joiner.diary.integrities
        #expect(integrities == [.skipped(2...2)])
        await couple.end()
    }

    @Test func messagesBehindExpiredOneExpireToo() async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let inviter = try await Person(relay, clock: clock)
        let couple = try await Couple(relay, inviter: inviter)
        relay.setUnreachable([try Known.server(2), try Known.server(4)])
        var numbers: [Int64] = []
        for text in ["one", "two", "three"] {
            numbers.append(
                try await inviter.agent.send(
                    bytes(text), to: couple.toJoiner, notifies: false, identifier: nil))
        }
        let (first, all) = (numbers[0], numbers)
        try await wait(until: "it was tried") { try await inviter.agent.isTried(first) }
        clock.advance(by: .seconds(2 * 86_400 + 1))
        await inviter.diary.wait { events in
            all.allSatisfy { number in
                events.contains { $0.content == .messageFailed(message: number, .expired) }
            }
        }
        relay.setUnreachable([])
        _ = try await inviter.agent.send(
            bytes("in time"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(1)
        #expect(await couple.joiner.diary.bodies() == [bytes("in time")])
        await couple.end()
    }

    @Test func earlyMessagesDoNotExpireBeforeConnecting() async throws {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let inviter = try await Person(relay, clock: clock)
        let invited = try await inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(1), linkData: nil))
        _ = try await inviter.agent.send(
            bytes("early"), to: invited.connection, notifies: false, identifier: nil)
        clock.advance(by: .seconds(30 * 86_400))
        let joiner = try await Person(relay, servers: [2])
        // The inviter's confirmation is the second request, the early message the third and fourth.
        relay.loseAnswers(to: "SEND", [3, 4])
        let couple = try await Couple(
            inviter: inviter, joiner: joiner, toJoiner: invited.connection, link: invited.links.full.link)
        await joiner.diary.waitForBodies(1)
        #expect(await joiner.diary.bodies() == [bytes("early")])
        await couple.end()
    }

    @Test func peerRotationsAreRateLimited() throws {
        var moves = RateLimit.moves
        var taken = (0..<10).map { moves.take(now: ElapsedTime(seconds: 1000 + $0)) }
        #expect(taken == Array(repeating: true, count: 10))
        var stored = RateLimit.moves.having(stored: moves.stored)
        #expect(stored == moves)
        taken = [4599, 4600, 4600].map { stored.take(now: ElapsedTime(seconds: $0)) }
        #expect(taken == [false, true, false])
        #expect(RateLimit.moves.having(stored: [1, 2, 3]) == RateLimit.moves)
    }

    @Test func deletionSendsWaitingMessagesAndLeavesNoQueues() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        // Disable receipts, which would fail first.
        await couple.joiner.end()
        try await couple.joiner.start(takes: false)
        let number = try await couple.inviter.agent.send(
            bytes("farewell"), to: couple.toJoiner, notifies: false, identifier: nil)
        try await couple.inviter.agent.delete(couple.toJoiner, afterSending: true)
        await couple.inviter.diary.wait { $0.contains { $0.content == .deleted } }
        #expect(await couple.inviter.diary.events.contains { $0.content == .sent(message: number) })
        await couple.joiner.diary.waitForBodies(1)
        #expect(try await couple.inviter.agent.connections().isEmpty)
        await #expect(throws: AgentError.self) {
            try await couple.inviter.agent.send(
                bytes("x"), to: couple.toJoiner, notifies: false, identifier: nil)
        }

        // The peer notices the deletion on its next message.
        let vain = try await couple.joiner.agent.send(
            bytes("hello?"), to: couple.toInviter, notifies: false, identifier: nil)
        await couple.joiner.diary.wait { events in
            events.contains { $0.content == .messageFailed(message: vain, .contactGone) }
                && events.contains { $0.condition?.isGone == true }
        }
        await #expect {
            try await couple.joiner.agent.send(
                bytes("x"), to: couple.toInviter, notifies: false, identifier: nil)
        } throws: { ($0 as? AgentError)?.code == .ended }
        try await couple.joiner.agent.delete(couple.toInviter, afterSending: true)
        await couple.joiner.diary.wait { $0.contains { $0.content == .deleted } }
        #expect(relay.queueCount == 0)
        await couple.end()
    }

    @Test func takenOverQueueIsNotResubscribed() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        let copy = try await Person(relay)
        await couple.inviter.end()
        await copy.end()
        try copy.folder.write(couple.inviter.folder.read("connections.db"), to: "connections.db")
        try await couple.inviter.start()
        try await wait(until: "it is subscribed") { relay.count("SUB") > 2 }
        try await copy.start()
        await couple.inviter.diary.wait { $0.contains { $0.condition?.isTakenOver == true } }
        _ = try await couple.joiner.agent.send(
            bytes("to whom?"), to: couple.toInviter, notifies: false, identifier: nil)
        await copy.diary.waitForBodies(1)
        #expect(await couple.inviter.diary.bodies().isEmpty)
        await copy.end()
        await couple.end()
    }

    @Test func unacknowledgedEventsRepeatAfterRestart() async throws {
        let couple = try await Couple(MemoryRelay())
        let joiner = couple.joiner
        await joiner.end()
        _ = try await couple.inviter.agent.send(
            bytes("kept"), to: couple.toJoiner, notifies: false, identifier: nil)
        try await joiner.start(takes: false)
        await joiner.diary.waitForBodies(1)
        let number = await joiner.diary.events.last {
            if case .received = $0.content { true } else { false }
        }?.number
        try await joiner.restart()
        try await wait(until: "it came again") { await joiner.diary.repetitions > 0 }
        #expect(await joiner.diary.bodies() == [bytes("kept")])
        #expect(number != nil)
        await couple.end()
    }
}
