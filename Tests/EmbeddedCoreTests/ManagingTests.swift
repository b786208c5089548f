import ChatCore
import Glibc
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Renaming, leaving and deleting")
struct ManagingTests {
    private func profile(_ name: String, _ world: World) throws -> Profile {
        try world.directory.profile(named: name)
    }

    private func chats(_ name: String, _ world: World) throws -> [Chat] {
        try world.directory.chats(of: profile(name, world)).filter { $0.displayName != "Saved notes" }
    }

    @Test func renamedProfileShowsNewNameToContacts() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        let heard = Listener(bob)
        try world.directory.renameProfile(profile("alice", world), to: "Alice B.")
        try await heard.waits(for: "chatUpdated")
        #expect(try chats("bob", world).map(\.displayName) == ["Alice B."])
        #expect(try chats("bob", world).map(\.isNamedByUser) == [false])
        _ = try await alice.send(alice.compose(pattern(10)), to: alice.chat(named: "bob"))
        #expect(try await bob.newest(in: "Alice B.").sender == "Alice B.")
        #expect(throws: ChatError.self) {
            try world.directory.renameProfile(profile("bob", world), to: "Alice B.")
        }
        #expect(throws: ChatError.self) {
            try world.directory.renameProfile(profile("bob", world), to: "@bob")
        }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func chatAliasIsLocal() throws {
        let world = try World(["alice", "bob", "carol"])
        try world.directory.connect("alice", "bob")
        try world.directory.connect("alice", "carol")
        let chat = try #require(try chats("alice", world).first { $0.displayName == "bob" })
        try world.directory.rename(chat.reference, of: profile("alice", world), to: "Bob from work")
        #expect(try chats("alice", world).map(\.displayName).sorted() == ["Bob from work", "carol"])
        #expect(try chats("bob", world).map(\.displayName) == ["alice"])
        // A contact's own name does not conflict; the user's alias of another chat does.
        try world.directory.rename(chat.reference, of: profile("alice", world), to: "carol")
        let carol = try #require(
            try chats("alice", world).first { $0.displayName == "carol" && $0.reference != chat.reference })
        #expect(throws: ChatError.self) {
            try world.directory.rename(carol.reference, of: profile("alice", world), to: "carol")
        }
        #expect(throws: ChatError.self) {
            try world.directory.rename(chat.reference, of: profile("bob", world), to: "mine")
        }
        #expect(throws: ChatError.self) {
            try world.directory.rename(.notes(1), of: profile("alice", world), to: "notes")
        }
    }

    @Test func leftContactKeepsFilesUntilReconnected() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        let (toBob, toAlice) = (try await alice.chat(named: "bob"), try await bob.chat(named: "alice"))
        _ = try await alice.send(alice.compose(pattern(10)), to: toBob)
        try world.directory.leave(toBob, of: profile("alice", world))
        for (core, chat) in [(alice, toBob), (bob, toAlice)] {
            let error = await #expect(throws: ChatError.self) {
                _ = try await core.send(core.compose(pattern(10)), to: chat)
            }
            #expect(error?.code == .sendingRefused)
            #expect(try await core.items(of: chat, before: nil, count: 9).count == 1)
        }
        #expect(try chats("bob", world).map(\.sendingRefused) == ["The contact has left this chat."])
        #expect(throws: ChatError.self) { try world.directory.leave(toBob, of: profile("alice", world)) }
        try world.directory.connect("alice", "bob")
        _ = try await bob.send(bob.compose(pattern(10)), to: toAlice)
        #expect(try await alice.items(of: toBob, before: nil, count: 9).count == 2)
        #expect(throws: ChatError.self) { try world.directory.connect("bob", "alice") }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func leavingGroupStopsReceiving() async throws {
        let world = try World(["ann", "ben", "cleo"])
        try world.directory.createGroup("Club", members: ["ann", "ben", "cleo"])
        let (ann, ben) = (try await world.open("ann"), try await world.open("ben"))
        let cleo = try await world.open("cleo")
        try world.directory.leave(await ben.chat(named: "Club"), of: profile("ben", world))
        _ = try await ann.send(ann.compose(pattern(10)), to: ann.chat(named: "Club"))
        #expect(try await cleo.items(of: cleo.chat(named: "Club"), before: nil, count: 9).count == 1)
        #expect(try await ben.items(of: ben.chat(named: "Club"), before: nil, count: 9).isEmpty)
        for core in [ann, ben, cleo] { await core.shutDown() }
    }

    @Test func deletedChatKeepsPeersFiles() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        let heard = Listener(bob)
        _ = try await alice.send(alice.compose(pattern(70_000)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "rcvFileComplete")
        try await alice.deleteChat(alice.chat(named: "bob"))
        #expect(try chats("alice", world).isEmpty)
        #expect(try world.folder.names(in: "data/profiles/1/files").isEmpty)
        #expect(try await bob.newest(in: "alice").content() == pattern(70_000))
        await #expect(throws: ChatError.self) { try await alice.deleteChat(.notes(1)) }
        // They are connected again, each with its old chat.
        try world.directory.connect("alice", "bob")
        #expect(try await alice.items(of: alice.chat(named: "bob"), before: nil, count: 9).isEmpty)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func deletedProfileLeavesOnlyPeersFiles() async throws {
        let world = try World(["alice", "bob", "carol"])
        try world.directory.connect("alice", "bob")
        try world.directory.createGroup("Club", members: ["alice", "bob", "carol"])
        let (alice, bob) = (try await world.open("alice"), try await world.open("bob"))
        let heard = Listener(bob)
        _ = try await alice.send(alice.compose(pattern(70_000)), to: alice.chat(named: "bob"))
        _ = try await alice.send(alice.compose(pattern(70)), to: alice.chat(named: "Saved notes"))
        try await heard.waits(for: "rcvFileComplete")
        try await alice.deleteProfile()
        #expect(try world.directory.profiles().map(\.displayName) == ["bob", "carol"])
        #expect(access(world.folder.path("data/profiles/1"), F_OK) != 0)
        #expect(try await bob.newest(in: "alice").content() == pattern(70_000))
        #expect(try chats("bob", world).first { $0.displayName == "alice" }?.sendingRefused != nil)
        _ = try await bob.send(bob.compose(pattern(10)), to: bob.chat(named: "Club"))
        // The name is free for another profile.
        _ = try world.directory.createProfile("alice")
        #expect(try chats("alice", world).isEmpty)
        await bob.shutDown()
    }

    @Test func emptyGroupIsDeleted() async throws {
        let world = try World()
        try world.directory.createGroup("Club", members: ["alice", "bob"])
        for name in ["alice", "bob"] {
            let core = try await world.open(name)
            try await core.deleteChat(core.chat(named: "Club"))
            await core.shutDown()
        }
        let left = try world.database().read {
            try $0.query("SELECT count(*) AS count FROM chat_group") { $0.integer("count") }
        }
        #expect(left == [0])
    }
}
