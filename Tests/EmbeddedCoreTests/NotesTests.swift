import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct NotesTests {
    @Test func notesNeedNoRelay() async throws {
        let world = try World(["alice"])
        let alice = try await world.open("alice", relays: [])
        let heard = Listener(alice)
        let notes = try await alice.chat(named: "Saved notes")
        for size in [0, 261_121, 700_000] {
            let item = try await alice.send(try alice.compose(pattern(size)), to: notes)
            #expect(item.file?.status == .sndStored)
            #expect(item.file?.transport == .local)
            #expect(item.file?.expires == nil)
            #expect(try item.content() == pattern(size))
        }
        #expect(world.relay.state.withLock { $0.uploadsBegun } == 0)
        #expect(heard.names.isEmpty)
        let last = try await alice.newest(in: "Saved notes")
        let source = try #require(last.file?.source)
        try await alice.deleteItems([last.id], in: notes, mode: .internal)
        #expect(access(source.path, F_OK) != 0)
        #expect(try await alice.items(of: notes, before: nil, count: 9).count == 2)
        await alice.shutDown()
    }

    @Test("notes offer no action that fails")
    func actions() async throws {
        let world = try World(["alice"])
        let alice = try await world.open("alice", relays: [])
        let chats = try await alice.chats()
        let notes = try #require(chats.first { $0.displayName == "Saved notes" })
        #expect(notes.actions == [.upload, .messages])
        await #expect(throws: ChatError.self) {
            try await alice.send(ComposedText(id: "1", text: "x"), to: notes.reference)
        }
        await alice.shutDown()
    }

    @Test func modificationTimeIsKept() async throws {
        let world = try World(["alice"])
        let alice = try await world.open("alice")
        var message = try alice.compose([1, 2, 3])
        message.modified = .init(seconds: 1_000_000)
        let item = try await alice.send(message, to: alice.chat(named: "Saved notes"))
        #expect(item.time.seconds == 1_000_000)
        await alice.shutDown()
    }
}
