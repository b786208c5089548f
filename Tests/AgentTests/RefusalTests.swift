import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Servers that answer `ERR AUTH` for a contact's queue.
@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
    private static func servers() throws -> Set<ServerAddress> { [try Known.server(2), try Known.server(4)] }

    private static func couple(_ relay: MemoryRelay, _ clock: ManualClock, after: Duration) async throws
        -> Couple
    {
        var times = Known.times
        times.goneAfter = after
        return try await Couple(
            relay, inviter: Person(relay, servers: [1, 3], clock: clock, times: times))
    }

    @Test func singleRefusalDoesNotEndContact() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let couple = try await Self.couple(relay, clock, after: .seconds(86_400))
        relay.setDenying(try Self.servers())
        let number = try await couple.inviter.agent.send(
            bytes("late"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.inviter.diary.wait { $0.contains { $0.condition?.isRefused == true } }
        try await wait(until: "it was tried often") { relay.count("denied") > 8 }
        #expect(await !couple.inviter.diary.events.contains { $0.condition?.isGone == true })
        relay.setDenying([])
        await couple.joiner.diary.waitForBodies(1)
        await couple.inviter.diary.wait { events in
            events.contains { $0.content == .sent(message: number) }
                && events.last { $0.condition != nil }?.condition?.isRefused == false
        }
        await couple.end()
    }

    @Test func contactRefusedForADayReturnsByWriting() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let couple = try await Self.couple(relay, clock, after: .seconds(86_400))
        relay.setDenying(try Self.servers())
        let number = try await couple.inviter.agent.send(
            bytes("lost"), to: couple.toJoiner, notifies: false, identifier: nil)
        try await wait(until: "it was tried often") { relay.count("denied") > 8 }
        clock.advance(by: .seconds(86_400))
        await couple.inviter.diary.wait { events in
            events.contains { $0.condition?.isGone == true }
                && events.contains { $0.content == .messageFailed(message: number, .contactGone) }
        }
        relay.setDenying([])
        _ = try await couple.joiner.agent.send(
            bytes("here I am"), to: couple.toInviter, notifies: false, identifier: nil)
        await couple.inviter.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.isGone == false
        }
        _ = try await couple.inviter.agent.send(
            bytes("again"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(1)
        await couple.end()
    }

    @Test func refusalsSurviveRestart() async throws {
        let (relay, clock) = (MemoryRelay(), ManualClock())
        let couple = try await Self.couple(relay, clock, after: .seconds(86_400))
        relay.setDenying(try Self.servers())
        _ = try await couple.inviter.agent.send(
            bytes("lost"), to: couple.toJoiner, notifies: false, identifier: nil)
        try await wait(until: "it was tried often") { relay.count("denied") > 8 }
        clock.advance(by: .seconds(40_000))
        try await couple.inviter.restart()
        clock.advance(by: .seconds(46_400))
        await couple.inviter.diary.wait { $0.contains { $0.condition?.isGone == true } }
        await couple.end()
    }

    @Test func refusalsNeedCountAndTimeToEnd() {
        let limit = Refusals.Limit(count: 5, duration: .seconds(100))
        var refusals = Refusals()
        #expect(!refusals.areFinal(at: ElapsedTime(seconds: 1000), limit))
        for time: Int64 in 0..<4 { refusals.add(at: ElapsedTime(seconds: time)) }
        #expect(!refusals.areFinal(at: ElapsedTime(seconds: 1000), limit), "too few")
        refusals.add(at: ElapsedTime(seconds: 4))
        #expect(!refusals.areFinal(at: ElapsedTime(seconds: 99), limit), "too early")
        #expect(refusals.areFinal(at: ElapsedTime(seconds: 100), limit))
        #expect(Refusals(count: 7, since: nil) == Refusals())
    }
}
