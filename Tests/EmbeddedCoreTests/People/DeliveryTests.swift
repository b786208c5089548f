import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Delivery results")
struct DeliveryTests {
    @Test("receipts mark files and texts as delivered")
    func delivered() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let item = try await alice.core.send(alice.core.compose(pattern(10)), to: chat)
        #expect(item.file?.isDelivered == false)
        try await alice.core.send(ComposedText(id: "1", text: "a word"), to: chat)
        try await wait(until: "the file is delivered") {
            try await alice.core.newest(in: "bob").file?.isDelivered == true
        }
        let lines = try await alice.lines(of: "bob", count: 4)
        #expect(lines.prefix(2).map(\.event) == ["message", "message"])
        #expect(Set(lines.suffix(2).map(\.id)) == Set(lines.prefix(2).map(\.id)))
        #expect(lines.suffix(2).allSatisfy { $0.event == "state" && $0.state == "delivered" })
        // Only the sender hears of it.
        #expect(try await bob.lines(of: "alice", count: 2).map(\.event) == ["message", "message"])
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    /// A profile with one contact and an agent controlled by the test.
    private func stage(
        early: Bool, _ outcome: @escaping @Sendable (Int64) -> AgentEvent.Content?
    ) async throws -> (world: World, core: EmbeddedCore, agent: ToldAgent) {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: early, outcome: outcome)
        // A contact exists, so the agent is needed from the start.
        let first = try await world.open("alice")
        try first.store.commit { change in
            try change.tables.people.insert(ConnectionID(1))
            let chat = try change.tables.chats.insertContact(
                "bob", of: first.profile.id, at: world.clock.now())
            try change.tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: "bob"), versions: 1...16),
                of: ConnectionID(1), chat: chat)
        }
        await first.shutDown()
        return (world, try await world.open("alice", over: agent.making), agent)
    }

    @Test(
        "unsent message fails its file in either order",
        arguments: [true, false])
    func failed(early: Bool) async throws {
        let (world, core, _) = try await stage(early: early) {
            $0 == 1 ? .messageFailed(message: 1, .queueFull) : nil
        }
        let item = try await core.send(core.compose(pattern(10)), to: core.chat(named: "bob"))
        let failed = try await core.item(in: "bob") { status in
            if case .sndError = status { true } else { false }
        }
        #expect(failed.id == item.id)
        #expect(failed.file?.status == .sndError(FileProblem(.other, FailureReason.queueFull.sentence)))
        let lines = try await wait(for: "the line of it") {
            let lines = try await Line.all(core.log(of: "bob"))
            return lines.count == 2 ? lines : nil
        }
        #expect(lines[1].state == "failed" && lines[1].error == FailureReason.queueFull.sentence)
        await core.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test("unsent description fails the file", arguments: [true, false])
    func failedDescription(early: Bool) async throws {
        let (world, core, _) = try await stage(early: early) {
            $0 == 2 ? .messageFailed(message: 2, .expired) : nil
        }
        _ = try await core.send(core.compose(pattern(10)), to: core.chat(named: "bob"))
        let failed = try await core.item(in: "bob") { status in
            if case .sndError = status { true } else { false }
        }
        #expect(failed.file?.status == .sndError(FileProblem(.other, FailureReason.expired.sentence)))
        await core.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test(
        "receipt may precede the message's number", arguments: [true, false])
    func early(early: Bool) async throws {
        let (world, core, agent) = try await stage(early: early) { .delivered(message: $0) }
        for number in 0..<5 {
            try await core.send(
                ComposedText(id: "\(number)", text: "text \(number)"), to: core.chat(named: "bob"))
        }
        let lines = try await wait(for: "all lines") {
            let lines = try await Line.all(core.log(of: "bob"))
            return lines.count == 10 ? lines : nil
        }
        let sent = lines.filter { $0.event == "message" }.map(\.id)
        #expect(lines.filter { $0.state == "delivered" }.map(\.id) == sent)
        #expect(agent.sent == 5)
        await core.shutDown()
        let isAnyLeft = try world.database().read { try $0.exists("SELECT 1 FROM handed_message") }
        #expect(!isAnyLeft)
    }

    @Test("deleted message leaves no delivery rows")
    func pruned() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let item = try await alice.core.send(alice.core.compose(pattern(10)), to: chat)
        let there = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        try await alice.core.deleteItems([item.id], in: chat, mode: .internal)
        try await bob.core.deleteItems([there.id], in: there.chat, mode: .internal)
        let (own, others) = (
            "SELECT 1 FROM shared_message",
            """
            SELECT 1 FROM shared_message WHERE item IS NOT NULL OR parts > 0
            UNION ALL SELECT 1 FROM description_part
            """
        )
        #expect(try !alice.world.database().read { try $0.exists(own + " WHERE author = 'own'") })
        #expect(try !bob.world.database().read { try $0.exists(others) })
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }
}
