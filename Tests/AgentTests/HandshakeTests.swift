import Base
import SMP
import TestSupport
import Testing

@testable import Agent

@Suite(.timeLimit(.minutes(10))) struct HandshakeTests {
    @Test func fullLinkConnectsBothSides() async throws {
        let couple = try await Couple(MemoryRelay())
        #expect(
            await couple.inviter.diary.first { event -> [UInt8]? in
                if case .connecting(let information) = event.content { information } else { nil }
            } == bytes("joiner"))
        #expect(
            await couple.joiner.diary.first { event -> [UInt8]? in
                if case .connected(let information) = event.content { information } else { nil }
            } == bytes("inviter"))

        let number = try await couple.inviter.agent.send(
            bytes("hello"), to: couple.toJoiner, notifies: true, identifier: nil)
        await couple.joiner.diary.waitForBodies(1)
        #expect(await couple.joiner.diary.bodies() == [bytes("hello")])
        // The receipt sent by the other application.
        await couple.inviter.diary.wait { $0.contains { $0.content == .delivered(message: number) } }
        #expect(await couple.inviter.diary.events.contains { $0.content == .sent(message: number) })

        _ = try await couple.joiner.agent.send(
            bytes("hello yourself"), to: couple.toInviter, notifies: true, identifier: nil)
        await couple.inviter.diary.waitForBodies(1)
        #expect(await couple.inviter.diary.bodies() == [bytes("hello yourself")])

        let codes = try await (
            couple.inviter.agent.security(of: couple.toJoiner)?.code,
            couple.joiner.agent.security(of: couple.toInviter)?.code
        )
        #expect(codes.0 != nil && codes.0 == codes.1)
        await couple.end()
    }
}
