import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Kills the process after every step of an operation; the next process resumes it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StepwiseEndTests {
    enum Deed: CaseIterable, Sendable {
        /// A message each way, with receipt.
        case messages
        /// New keys, requested by the inviter.
        case keys
        /// Rotation of the inviter's queue to another server.
        case rotation
        /// A move to the other one of two servers.
        case move
    }

    @Test(arguments: Deed.allCases, [true, false])
    func operationSurvivesKillAtEveryStep(deed: Deed, inviterEnds: Bool) async throws {
        let relay = MemoryRelay()
        var (step, unreached) = (0, 0)
        // A kill that comes after completion shows that every step was covered.
        while unreached < 3 {
            // Rotations of a peer are rate limited.
            let pair = Pair(try await Couple(relay))
            for _ in 0..<6 where unreached < 3 {
                let dying = inviterEnds ? pair.couple.inviter : pair.couple.joiner
                let hasEnded = try await end(dying, after: step) { try await pair.perform(deed, step) }
                unreached = hasEnded ? 0 : unreached + 1
                step += 1
            }
            try await pair.check()
            try #require(step < 200)
        }
        #expect(step > 8, "\(step) steps")
    }

    /// Returns whether the process was killed before completion. It is running on return.
    private func end(
        _ dying: Person, after step: Int, _ body: () async throws -> Void
    ) async throws -> Bool {
        dying.end(after: step)
        let reviving = Task {
            try await wait(until: "the process ends", within: .seconds(200)) { !dying.willEnd }
            guard !dying.agent.isRunning else { return false }
            try await dying.restart()
            return true
        }
        try await body()
        dying.end(after: nil)
        return try await reviving.value
    }
}

/// Two people and their messages.
private final class Pair {
    let couple: Couple
    private var texts: [String] = []
    private var numbers: (inviter: [Int64], joiner: [Int64]) = ([], [])

    init(_ couple: Couple) { self.couple = couple }

    func perform(_ deed: StepwiseEndTests.Deed, _ step: Int) async throws {
        switch deed {
        case .messages: break
        case .keys:
            let isAgreed: @Sendable (ConnectionCondition) -> Bool = { $0.synchronisation == .agreed }
            try await change([couple.inviter, couple.joiner], through: isAgreed) {
                try await $0.resynchronise(couple.toJoiner)
            }
        case .rotation:
            let server = try Known.server(step % 2 == 0 ? 3 : 1)
            try await change([couple.inviter], through: \.isRotating) {
                try await $0.rotate(couple.toJoiner, to: server)
            }
        case .move:
            let servers = try [Known.server(1), Known.server(3)]
            try await change([couple.inviter], through: \.isRotating) {
                try await $0.move(couple.toJoiner, toOneOf: servers)
            }
        }
        try await converse("\(step)")
    }

    /// Changes the inviter's connection and waits until the change is complete on these sides.
    /// - Parameter isPassed: recognises an intermediate condition.
    private func change(
        _ people: [Person], through isPassed: @escaping @Sendable (ConnectionCondition) -> Bool,
        _ body: (Agent) async throws -> Void
    ) async throws {
        var before: [Int] = []
        for person in people {
            before.append(await person.diary.events.compactMap(\.condition).count(where: isPassed))
        }
        try await couple.inviter.untilItWorks(body)
        for (person, before) in zip(people, before) {
            await person.diary.wait { events in
                let conditions = events.compactMap(\.condition)
                guard let last = conditions.last, conditions.count(where: isPassed) > before else {
                    return false
                }
                return last.synchronisation == .synchronised && !last.isRotating
            }
        }
    }

    /// Sends a message in each direction and waits for receipts.
    private func converse(_ text: String) async throws {
        texts.append(text)
        let one = try await couple.inviter.untilItWorks {
            try await $0.send(bytes(text), to: couple.toJoiner, notifies: false, identifier: bytes(text))
        }
        let other = try await couple.joiner.untilItWorks {
            try await $0.send(bytes(text), to: couple.toInviter, notifies: false, identifier: bytes(text))
        }
        numbers.inviter.append(one)
        numbers.joiner.append(other)
        await couple.inviter.diary.wait { $0.contains { $0.content == .delivered(message: one) } }
        await couple.joiner.diary.wait { $0.contains { $0.content == .delivered(message: other) } }
    }

    func check() async throws {
        for (person, numbers) in [(couple.inviter, numbers.inviter), (couple.joiner, numbers.joiner)] {
            #expect(await person.diary.bodies() == texts.map(bytes))
            let contents = await person.diary.events.map(\.content)
            for number in numbers {
                #expect(contents.count { $0 == .sent(message: number) } == 1)
                #expect(contents.count { $0 == .delivered(message: number) } == 1)
            }
            let isWhole = await person.diary.integrities.allSatisfy { $0 == .complete }
            #expect(isWhole)
        }
        await couple.end()
    }
}
