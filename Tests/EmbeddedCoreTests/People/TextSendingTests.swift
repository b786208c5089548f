import ChatCore
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Sending texts")
struct TextSendingTests {
    @Test("each request sends one text across restarts")
    func once() async throws {
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        let chat = try await alice.core.chat(named: "bob")
        for round in 0..<3 {
            if round == 1 { await internet.stop() }
            let text = ComposedText(id: "request \(round)", text: "text \(round)")
            for _ in 0..<2 { try await alice.core.send(text, to: chat) }
            try await alice.reopen()
            try await alice.core.send(text, to: chat)
            if round == 1 { try internet.start() }
        }
        // Equal text in another request is another message.
        try await alice.core.send(ComposedText(id: "another", text: "text 2"), to: chat)
        let lines = try await bob.lines(of: "alice", count: 4)
        #expect(lines.map(\.text) == ["text 0", "text 1", "text 2", "text 2"])
        let own = try await alice.lines(of: "bob", count: 4).filter { $0.event == "message" }
        #expect(own.map(\.id) == lines.map(\.id))
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("empty, oversized and undeliverable texts are rejected")
    func refused() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        func code(_ text: String, to chat: ChatReference) async -> ChatErrorCode? {
            await refusal { try await alice.send(ComposedText(id: "1", text: text), to: chat) }?.code
        }
        #expect(await code(String(repeating: "x", count: 15_001), to: chat) == .tooLarge)
        #expect(await code("", to: chat) == .invalidCommand)
        #expect(try await code("x", to: alice.chat(named: "Saved notes")) == .sendingRefused)
        #expect(await code("x", to: .direct(99)) == .noSuchChat)
        try await alice.leaveChat(chat)
        #expect(await code("x", to: chat) == .sendingRefused)
        #expect(try await alice.messageLogs().isEmpty)
        await alice.shutDown()
    }
}
