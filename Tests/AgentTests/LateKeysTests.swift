import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// New keys and their proofs that are delayed beyond the limit of ordinary messages.
@Suite(.timeLimit(.minutes(10))) struct LateKeysTests {
    enum Obstacle: CaseIterable, Sendable {
        case serverAway, queueFull, refusal

        var reason: FailureReason {
            switch self {
            case .serverAway: .expired
            case .queueFull: .queueFull
            case .refusal: .refused
            }
        }
    }

    private static func servers(_ numbers: UInt8...) throws -> Set<ServerAddress> {
        Set(try numbers.map { try Known.server($0) })
    }

    private static func write(_ text: String, by person: Person, to connection: ConnectionID) async throws
        -> Int64
    {
        try await person.agent.send(bytes(text), to: connection, notifies: false, identifier: nil)
    }

    private static func waitFor(_ text: String, at person: Person) async {
        await person.diary.wait { events in
            events.contains { event in
                if case .received(let message) = event.content { message.body == bytes(text) } else { false }
            }
        }
    }

    private static func waitUntilAgreed(_ person: Person) async {
        await person.diary.wait { $0.contains { $0.condition?.synchronisation == .agreed } }
    }

    /// Advances days until one side's message expires.
    private static func outlast(
        _ text: String, _ reason: FailureReason, by person: Person, to connection: ConnectionID,
        _ clock: ManualClock
    ) async throws {
        let number = try await write(text, by: person, to: connection)
        clock.advance(by: .seconds(10 * 86_400))
        await person.diary.wait {
            $0.contains { $0.content == .messageFailed(message: number, reason) }
        }
    }

    /// The keys decide which side sends first. Returns whether it was the replying side.
    private static func canSpeak(_ person: Person, _ connection: ConnectionID) async throws -> Bool {
        try await person.agent.stored { try $0.connections.load(connection).ratchet?.canSend == true }
    }

    /// The joiner starts; the inviter's reply is delayed.
    private static func answerHeldUp(by obstacle: Obstacle) async throws -> Bool {
        let relay = MemoryRelay(quota: 2)
        let clock = ManualClock()
        let inviter = try await Person(relay, servers: [1, 3], clock: clock)
        let couple = try await Couple(relay, inviter: inviter)
        if obstacle == .queueFull {
            await couple.joiner.end()
            for number in 0..<3 { _ = try await write("\(number)", by: inviter, to: couple.toJoiner) }
            await inviter.diary.wait { events in
                events.contains { if case .delayed(_, .queueFull) = $0.content { true } else { false } }
            }
            relay.setUnreachable(try servers(2, 4))
            try await couple.joiner.start()
        }
        if obstacle == .refusal { relay.setRefusing(try servers(2, 4)) }
        relay.setUnreachable(obstacle == .refusal ? [] : try servers(2, 4))
        try await couple.joiner.agent.resynchronise(couple.toInviter)
        await waitUntilAgreed(inviter)
        let speaks = try await canSpeak(inviter, couple.toJoiner)
        if obstacle == .queueFull {
            await couple.joiner.end()
            relay.setUnreachable([])
        }
        try await outlast("too late", obstacle.reason, by: inviter, to: couple.toJoiner, clock)
        relay.setUnreachable([])
        relay.setRefusing([])
        if obstacle == .queueFull { try await couple.joiner.start() }
        try await talk(couple)
        return speaks
    }

    private static func talk(_ couple: Couple) async throws {
        _ = try await write("there", by: couple.inviter, to: couple.toJoiner)
        await waitFor("there", at: couple.joiner)
        _ = try await write("back", by: couple.joiner, to: couple.toInviter)
        await waitFor("back", at: couple.inviter)
        await couple.end()
    }

    @Test(arguments: Obstacle.allCases)
    func proofOfNewKeysDoesNotExpireFirst(obstacle: Obstacle) async throws {
        while try await !Self.answerHeldUp(by: obstacle) {}
    }

    /// The joiner starts, the inviter replies and sends first; the joiner's `E` message is delayed.
    private static func secondWordHeldUp() async throws -> Bool {
        let relay = MemoryRelay()
        let clock = ManualClock()
        let couple = try await Couple(relay, joiner: Person(relay, servers: [2, 4], clock: clock))
        relay.setUnreachable(try servers(2, 4))
        try await couple.joiner.agent.resynchronise(couple.toInviter)
        await waitUntilAgreed(couple.inviter)
        let speaks = try await canSpeak(couple.inviter, couple.toJoiner)
        relay.setUnreachable(try servers(1, 3))
        if speaks {
            await couple.joiner.diary.wait { events in
                events.last { $0.condition != nil }?.condition?.synchronisation == .synchronised
            }
            try await outlast("too late", .expired, by: couple.joiner, to: couple.toInviter, clock)
        }
        relay.setUnreachable([])
        try await talk(couple)
        return speaks
    }

    @Test func delayedReadyMessageStillArrives() async throws {
        while try await !Self.secondWordHeldUp() {}
    }
}
