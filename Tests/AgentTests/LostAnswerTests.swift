import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Commands that took effect on the server while their replies were lost.
@Suite(.timeLimit(.minutes(10))) struct LostAnswerTests {
    /// Retry delays longer than the test.
    private static var patient: AgentTimes {
        var times = Known.times
        times.network = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)
        return times
    }

    private static func converse(_ couple: Couple) async throws {
        _ = try await couple.inviter.agent.send(
            bytes("one"), to: couple.toJoiner, notifies: false, identifier: nil)
        _ = try await couple.joiner.agent.send(
            bytes("two"), to: couple.toInviter, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(1)
        await couple.inviter.diary.waitForBodies(1)
        #expect(await couple.joiner.diary.bodies() == [bytes("one")])
        #expect(await couple.inviter.diary.bodies() == [bytes("two")])
    }

    /// Waits for both receipts, after which nothing is under way.
    private static func settle(_ couple: Couple) async {
        for person in [couple.inviter, couple.joiner] {
            await person.diary.wait { events in
                events.contains { if case .delivered = $0.content { true } else { false } }
            }
        }
    }

    @Test(arguments: ["NEW", "SKEY", "SEND", "SUB", "ACK"])
    func repeatedCommandsAreIdempotent(word: String) async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay, servers: [1, 3])
        let invited = try await inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(1), information: bytes("inviter"), linkData: nil))
        relay.loseAnswers(to: word, [1, 2, 3, 5])
        let joiner = try await Person(relay, servers: [2])
        let couple = try await Couple(
            inviter: inviter, joiner: joiner, toJoiner: invited.connection,
            link: invited.links.full.link)
        try await Self.converse(couple)
        #expect(await joiner.diary.integrities == [.complete])
        await couple.end()
    }

    /// The message arrived but its reply was lost before a key change. It is not sent again.
    @Test(arguments: [true, false]) func deliveredMessageIsNotResentAfterKeyChange(byInviter: Bool)
        async throws
    {
        let relay = MemoryRelay()
        let inviter = try await Person(relay, servers: [1, 3], times: Self.patient)
        let couple = try await Couple(relay, inviter: inviter, joiner: Person(relay, servers: [2]))
        try await Self.converse(couple)
        await Self.settle(couple)
        // No receipt reports it either.
        await couple.joiner.end()
        try await couple.joiner.start(takes: false, after: couple.joiner.diary.lastNumber)
        relay.loseAnswers(to: "SEND", [1])
        let number = try await couple.inviter.agent.send(
            bytes("once"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(2)
        #expect(await !couple.inviter.diary.events.contains { $0.content == .sent(message: number) })
        if byInviter {
            try await couple.inviter.agent.resynchronise(couple.toJoiner)
        } else {
            try await couple.joiner.agent.resynchronise(couple.toInviter)
        }
        await couple.inviter.diary.wait { $0.contains { $0.content == .sent(message: number) } }
        _ = try await couple.inviter.agent.send(
            bytes("after"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(3)
        #expect(await couple.joiner.diary.bodies() == ["one", "once", "after"].map(bytes))
        await couple.end()
    }

    /// The server never got the message. The peer's number reveals that, and it is encrypted again.
    @Test func lostMessageIsReencryptedAfterKeyChange() async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay, servers: [1, 3], times: Self.patient)
        let couple = try await Couple(relay, inviter: inviter, joiner: Person(relay, servers: [2]))
        try await Self.converse(couple)
        await Self.settle(couple)
        relay.setUnreachable([try Known.server(2)])
        let number = try await couple.inviter.agent.send(
            bytes("late"), to: couple.toJoiner, notifies: false, identifier: nil)
        try await wait(until: "it was tried") { try await couple.inviter.agent.isTried(number) }
        relay.setUnreachable([])
        try await couple.inviter.agent.resynchronise(couple.toJoiner)
        await couple.joiner.diary.waitForBodies(2)
        await couple.inviter.diary.wait { $0.contains { $0.content == .delivered(message: number) } }
        #expect(await couple.joiner.diary.bodies() == ["one", "late"].map(bytes))
        await couple.end()
    }

    /// A receipt proves that the server accepted the message whose reply was lost.
    @Test func receiptReplacesLostReply() async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay, servers: [1, 3], times: Self.patient)
        let couple = try await Couple(relay, inviter: inviter, joiner: Person(relay, servers: [2]))
        try await Self.converse(couple)
        await Self.settle(couple)
        relay.loseAnswers(to: "SEND", [1])
        let number = try await couple.inviter.agent.send(
            bytes("once"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.inviter.diary.wait { $0.contains { $0.content == .delivered(message: number) } }
        #expect(await couple.inviter.diary.events.contains { $0.content == .sent(message: number) })
        await couple.end()
    }

    @Test func joinersConfirmationEndsWithPeersReply() async throws {
        let relay = MemoryRelay()
        relay.loseAnswers(to: "SEND", [1])
        let joiner = try await Person(relay, servers: [2], times: Self.patient)
        let couple = try await Couple(relay, joiner: joiner)
        try await Self.converse(couple)
        await couple.end()
    }

    @Test func invitersConfirmationEndsWithPeersMessage() async throws {
        let relay = MemoryRelay()
        relay.loseAnswers(to: "SEND", [2])
        let inviter = try await Person(relay, servers: [1, 3], times: Self.patient)
        let joiner = try await Person(relay, servers: [2])
        let invited = try await inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(1), information: bytes("inviter"), linkData: nil))
        let connection = try await joiner.agent.join(
            link: invited.links.full.link, information: bytes("joiner"), confirmation: [])
        // The joiner is connected by the confirmation; its message tells the inviter.
        _ = try await joiner.agent.send(bytes("two"), to: connection, notifies: false, identifier: nil)
        await inviter.diary.waitForBodies(1)
        #expect(await inviter.diary.events.contains { $0.isConnected })
        _ = try await inviter.agent.send(
            bytes("one"), to: invited.connection, notifies: false, identifier: nil)
        await joiner.diary.waitForBodies(1)
        await inviter.end()
        await joiner.end()
    }

    @Test func addressRequestEndsWithAcceptance() async throws {
        let relay = MemoryRelay()
        let owner = try await Person(relay)
        let guest = try await Person(relay, servers: [2], times: Self.patient)
        let address = try await owner.agent.invite(
            Invitation(kind: .address, server: Known.server(), linkData: nil))
        relay.loseAnswers(to: "SEND", [1])
        let asked = try await guest.agent.join(
            link: address.links.full.link, information: bytes("may I?"), confirmation: bytes("thanks"))
        let request = await owner.diary.first { $0.request }
        let connection = try await owner.agent.accept(request.id, information: bytes("welcome"))
        await guest.diary.wait { $0.contains { $0.isConnected } }
        _ = try await guest.agent.send(bytes("hello"), to: asked, notifies: true, identifier: nil)
        await owner.diary.waitForBodies(1)
        #expect(await owner.diary.bodies(of: connection) == [bytes("hello")])
        await owner.end()
        await guest.end()
    }
}
