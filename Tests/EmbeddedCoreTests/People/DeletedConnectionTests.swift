import Agent
import Base
import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Deleted connections")
struct DeletedConnectionTests {
    private func connections(_ world: World) throws -> [Int64] {
        try world.database().read {
            try $0.query("SELECT number FROM connection ORDER BY number") { $0.integer("number") }
        }
    }

    /// Deleted by this side; the agent's work is complete.
    @Test("deletion leaves no connection and no agent")
    func deleted() async throws {
        let (alice, bob) = try await Internet().pair()
        try await alice.core.send(ComposedText(id: "1", text: "bye"), to: alice.core.chat(named: "bob"))
        #expect(try connections(alice.world).count == 1)
        try await alice.core.deleteChat(alice.core.chat(named: "bob"))
        try await wait(until: "its row is gone") { try connections(alice.world).isEmpty }
        // Bob learned of it before, and keeps the ended chat.
        try await wait(until: "bob is told") {
            try await bob.core.chats().contains { $0.sendingRefused != nil }
        }
        #expect(try await bob.lines(of: "alice", count: 1).compactMap(\.text) == ["bye"])
        try await alice.core.shutDown()
        let made = Lock(0)
        let core = try await alice.world.open("alice") { path, key, servers, network in
            made.withLock { $0 += 1 }
            return try Machine.agent(path, key, servers, network)
        }
        #expect(try await core.chats().map(\.displayName) == ["Saved notes"])
        await core.shutDown()
        #expect(made.withLock { $0 } == 0)
        try await bob.core.shutDown()
    }

    @Test("left chat keeps its messages")
    func left() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        try await alice.core.send(ComposedText(id: "1", text: "so long"), to: chat)
        try await alice.core.leaveChat(chat)
        try await wait(until: "its row is gone") { try connections(alice.world).isEmpty }
        try await alice.reopen()
        let found = try await alice.core.chats().first { $0.reference == chat }
        #expect(found?.displayName == "bob" && found?.sendingRefused == "You have left this chat.")
        #expect(try await alice.lines(of: "bob", count: 1).compactMap(\.text) == ["so long"])
        #expect(
            await refusal { try await alice.core.send(ComposedText(id: "2", text: "x"), to: chat) }?.code
                == .sendingRefused)
        // It is no longer a network chat: no keys, no queue to move.
        #expect(try await alice.core.security(of: chat) == nil)
        #expect(await refusal { try await alice.core.renewKeys(of: chat) }?.code == .invalidCommand)
        #expect(await refusal { try await alice.core.moveQueue(of: chat) }?.code == .invalidCommand)
        try await alice.core.deleteChat(chat)
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes"])
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("new link after deletion starts a new chat")
    func again() async throws {
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        try await alice.core.deleteChat(alice.core.chat(named: "bob"))
        try await wait(until: "its row is gone") { try connections(alice.world).isEmpty }
        let invitation = try await alice.core.invite()
        let joined = try await bob.core.accept(invitation.link)
        let met = try await wait(for: "bob once more") {
            try await alice.core.contact(of: invitation.connection)
        }
        _ = try await wait(for: "alice once more") { try await bob.core.contact(of: joined) }
        #expect(met.displayName == "bob" && met.sendingRefused == nil)
        #expect(try connections(alice.world) == [invitation.connection])
        try await alice.core.send(ComposedText(id: "9", text: "hello again"), to: met.reference)
        try await wait(until: "it is there") {
            let chats = try await bob.core.chats().filter { $0.sendingRefused == nil }
            for chat in chats where chat.displayName == "alice" {
                let log = try await bob.core.messageLog(of: chat.reference, from: 0, count: 1 << 20)
                if String(decoding: log, as: UTF8.self).contains("hello again") { return true }
            }
            return false
        }
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    /// Agent events about a connection that this side has not deleted, or never had.
    @Test("unexpected end keeps the contact")
    func told() async throws {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: false) { _ in nil }
        let core = try await world.openAlice(over: agent)
        func tell(_ content: AgentEvent.Content, of number: Int64) async throws {
            let next = agent.next
            agent.tell(content, of: ConnectionID(number), number: next)
            try await wait(until: "it is taken") { agent.isTaken(next) }
        }
        try await tell(.deleted, of: 1)
        #expect(try connections(world) == [1, 2])
        #expect(try await core.chats().map(\.displayName) == ["Saved notes", "bob", "carol"])
        try await tell(.deleted, of: 77)
        #expect(try connections(world) == [1, 2])
        try await tell(.connectionFailed(.linkGone), of: 78)
        try await tell(.deleted, of: 78)
        #expect(try connections(world) == [1, 2, 78])
        let failure = await refusal { try await core.contact(of: 78) }
        #expect(failure?.sentence == FailureReason.linkGone.sentence, "who waits for it is told why")
        try await core.deleteChat(core.chat(named: "carol"))
        try await tell(.deleted, of: 2)
        #expect(try connections(world) == [1, 78])
        // Repeating the event, as after a kill before its acknowledgement, has no effect.
        agent.tell(.deleted, of: ConnectionID(1), number: 1)
        try await tell(.delayed(message: 5, .queueFull), of: 1)
        #expect(try connections(world) == [1, 78])
        // After its chat is deleted, its failure is no longer needed.
        try await tell(.connectionFailed(.noAnswer), of: 1)
        try await core.deleteChat(core.chat(named: "bob"))
        try await tell(.deleted, of: 1)
        #expect(try connections(world) == [78])
        await core.shutDown()
    }
}
