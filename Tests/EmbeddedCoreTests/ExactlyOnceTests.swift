import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ExactlyOnceTests {
    @Test(arguments: [1000, 300_000])
    func repeatedSendCreatesOneMessage(size: Int) async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        let first = try await alice.send(try alice.compose(pattern(size), id: "one"), to: chat)
        // The outbox was killed before recording it; its staged file remains.
        let again = try alice.compose(pattern(size), id: "one")
        #expect(try await alice.send(again, to: chat).id == first.id)
        #expect(access(again.source.path, F_OK) != 0)
        try await withThrowingTaskGroup(of: ItemID.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await alice.send(try alice.compose(pattern(size), id: "two"), to: chat).id
                }
            }
            var ids: Set<ItemID> = []
            for try await id in group { ids.insert(id) }
            #expect(ids.count == 1)
        }
        await alice.shutDown()
        let bob = try await world.open("bob")
        #expect(try await bob.items(of: bob.chat(named: "alice"), before: nil, count: 9).count == 2)
        #expect(try world.folder.names(in: "data/profiles/1/files").count == 2)
        await bob.shutDown()
    }

    @Test func sentItemIsFoundByMessageID() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        var alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        let sent = try await alice.send(alice.compose(pattern(50), id: "one"), to: chat)
        #expect(try await alice.item(sentAs: "two", in: chat) == nil)
        await alice.shutDown()
        // In the next process too.
        alice = try await world.open("alice")
        #expect(try await alice.item(sentAs: "one", in: chat)?.id == sent.id)
        try await alice.deleteItems([sent.id], in: chat, mode: .broadcast)
        #expect(try await alice.item(sentAs: "one", in: chat) == nil)
        #expect(try await alice.items(of: chat, before: nil, count: 9).isEmpty)
        await alice.shutDown()
    }

    @Test func killAfterCommitLeavesOneMessage() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        var alice = try await world.open("alice")
        let message = try alice.compose(pattern(50), id: "one")
        // The staged name after a kill before its removal.
        let copy = world.folder.path("copy")
        #expect(link(message.source.path, copy) == 0)
        let sent = try await alice.send(message, to: alice.chat(named: "bob"))
        #expect(link(copy, message.source.path) == 0)
        await alice.shutDown()
        alice = try await world.open("alice")
        #expect(try await alice.send(message, to: alice.chat(named: "bob")).id == sent.id)
        #expect(try sent.content() == pattern(50))
        #expect(try world.folder.names(in: "data/profiles/1/staging").isEmpty)
        await alice.shutDown()
    }

    @Test func killBeforeCommitLeavesOnlyStagedFile() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        var alice = try await world.open("alice")
        let message = try alice.compose(pattern(50), id: "one")
        let kept = try alice.store.folders.keep(message.source, size: 50)
        await alice.shutDown()
        alice = try await world.open("alice")
        #expect(try world.folder.names(in: "data/profiles/1/files").contains(kept) == false)
        let sent = try await alice.send(message, to: alice.chat(named: "bob"))
        #expect(try sent.content() == pattern(50))
        await alice.shutDown()
    }

    @Test func invalidStagedFileIsRejected() async throws {
        let world = try World()
        let alice = try await world.open("alice")
        let notes = try await alice.chat(named: "Saved notes")
        var message = try alice.compose(pattern(50))
        message.size = 51
        #expect(await refusal { try await alice.send(message, to: notes) }?.code == .file(.damaged))
        message.size = 50
        let arguments = message.source.arguments
        message.source.arguments = nil
        #expect(await refusal { try await alice.send(message, to: notes) }?.code == .invalidCommand)
        message.source.arguments = arguments
        _ = try await alice.send(message, to: notes)
        let missing = ComposedMessage(
            id: "x", fileName: "x", size: 1,
            source: FileSourceLocation(path: "/nowhere", arguments: arguments),
            content: MessageContent(kind: .file))
        #expect(await refusal { try await alice.send(missing, to: notes) }?.code == .storage)
        await alice.shutDown()
    }

    @Test func otherProfilesChatIsNotFound() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let foreign = try await bob.chat(named: "alice")
        let message = try alice.compose([1])
        #expect(await refusal { try await alice.send(message, to: foreign) }?.code == .noSuchChat)
        #expect(
            await refusal { try await alice.items(of: foreign, before: nil, count: 1) }?.code == .noSuchChat)
        #expect(await refusal { try await alice.send(message, to: .group(1)) }?.code == .noSuchChat)
        await alice.shutDown()
        await bob.shutDown()
    }
}
