import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Servers have done what they were asked, and nobody has heard of it.
@Suite(.timeLimit(.minutes(10))) struct LostAnswerTests {
    /// Of who does not ask again while the test runs.
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

    /// Waits until both have the receipts of what they wrote: nothing is under way then.
    private static func settle(_ couple: Couple) async {
        for person in [couple.inviter, couple.joiner] {
            await person.diary.wait { events in
                events.contains { if case .delivered = $0.content { true } else { false } }
            }
        }
    }

    @Test(arguments: ["NEW", "SKEY", "SEND", "SUB", "ACK"])
    func whatIsAskedAgainIsTheSame(word: String) async throws {
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

    /// The message is there, and its answer was lost when the keys changed: it is not sent again with the new ones.
    @Test(arguments: [true, false]) func whatHadComeBeforeTheKeysChangedIsNotSentAgain(byInviter: Bool)
        async throws
    {
        let relay = MemoryRelay()
        let inviter = try await Person(relay, servers: [1, 3], times: Self.patient)
        let couple = try await Couple(relay, inviter: inviter, joiner: Person(relay, servers: [2]))
        try await Self.converse(couple)
        await Self.settle(couple)
        // No receipt tells of it either.
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

    /// The server never saw it: the other side says so with its new keys, and has it after them.
    @Test func whatHadNotComeBeforeTheKeysChangedIsEncryptedAnew() async throws {
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

    /// A receipt proves that the server has taken the message, whose own answer nobody heard.
    @Test func aReceiptIsAnAnswer() async throws {
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

    @Test func theJoinersConfirmationIsNotWaitedForWhenItWasAnswered() async throws {
        let relay = MemoryRelay()
        relay.loseAnswers(to: "SEND", [1])
        let joiner = try await Person(relay, servers: [2], times: Self.patient)
        let couple = try await Couple(relay, joiner: joiner)
        try await Self.converse(couple)
        await couple.end()
    }

    @Test func theInvitersConfirmationIsNotWaitedForWhenItWasAnswered() async throws {
        let relay = MemoryRelay()
        relay.loseAnswers(to: "SEND", [2])
        let inviter = try await Person(relay, servers: [1, 3], times: Self.patient)
        let joiner = try await Person(relay, servers: [2])
        let invited = try await inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(1), information: bytes("inviter"), linkData: nil))
        let connection = try await joiner.agent.join(
            link: invited.links.full.link, information: bytes("joiner"), confirmation: [])
        // The joiner is connected by the confirmation, and what it writes says so to the inviter.
        _ = try await joiner.agent.send(bytes("two"), to: connection, notifies: false, identifier: nil)
        await inviter.diary.waitForBodies(1)
        #expect(await inviter.diary.events.contains { $0.isConnected })
        _ = try await inviter.agent.send(
            bytes("one"), to: invited.connection, notifies: false, identifier: nil)
        await joiner.diary.waitForBodies(1)
        await inviter.end()
        await joiner.end()
    }

    @Test func aRequestAtAnAddressIsNotWaitedForWhenItWasAccepted() async throws {
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
