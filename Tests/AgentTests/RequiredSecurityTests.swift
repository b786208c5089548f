import SMP
import TestSupport
import Testing

@testable import Agent

/// Sending only with verified keys.
@Suite(.timeLimit(.minutes(10))) struct RequiredSecurityTests {
    private static func code(_ couple: Couple) async throws -> String {
        try #require(try await couple.inviter.agent.security(of: couple.toJoiner)).code
    }

    private static func write(_ text: String, _ couple: Couple) async throws -> Int64 {
        try await couple.inviter.agent.send(
            bytes(text), to: couple.toJoiner, notifies: false, identifier: nil)
    }

    @Test func bodiesWaitForRequiredKeys() async throws {
        let couple = try await Couple(MemoryRelay())
        let agent = couple.inviter.agent
        try await agent.requireSecurity("", of: couple.toJoiner)
        let number = try await Self.write("one", couple)
        #expect(await agent.finishSending(until: .now + .seconds(60)))
        #expect(try await !agent.isTried(number))
        try await agent.requireSecurity(Self.code(couple), of: couple.toJoiner)
        await couple.joiner.diary.waitForBodies(1)
        await couple.end()
    }

    @Test func otherKeysSendNothingUntilAllowed() async throws {
        let couple = try await Couple(MemoryRelay())
        let before = try await Self.code(couple)
        try await couple.inviter.agent.requireSecurity(before, of: couple.toJoiner)
        try await couple.joiner.agent.resynchronise(couple.toInviter)
        try await wait(until: "both have other keys") {
            let other = try await couple.joiner.agent.security(of: couple.toInviter)?.code
            let own = try await Self.code(couple)
            return own != before && own == other
        }
        // Agent messages are still sent.
        await couple.inviter.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.synchronisation == .synchronised
        }
        try await couple.inviter.restart()
        let number = try await Self.write("one", couple)
        #expect(await couple.inviter.agent.finishSending(until: .now + .seconds(60)))
        #expect(try await !couple.inviter.agent.isTried(number))
        try await couple.inviter.agent.requireSecurity(nil, of: couple.toJoiner)
        await couple.joiner.diary.waitForBodies(1)
        await couple.end()
    }
}
