import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite(
    "Contact management at the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct ChatManagementLiveTests {
    /// Alice and Bob, and a file of Alice that Bob has received.
    private func opened() async throws -> (OfficialRelays, alice: LivePerson, bob: LivePerson) {
        let relays = try await OfficialRelays()
        let (alice, bob) = try await LivePerson.acquaintances(relays)
        let (toBob, toAlice) = (try await alice.chat("bob"), try await bob.chat("alice"))
        _ = try await alice.send([UInt8](repeating: 7, count: 70_000), "kept.bin", to: toBob.reference)
        try await wait(until: "bob can receive it") {
            try await bob.received("kept.bin", in: toAlice.reference)?.status
                == .rcvInvitation(described: true)
        }
        let offer = try #require(try await bob.received("kept.bin", in: toAlice.reference))
        try await bob.core.receiveFile(offer.id, approvedRelays: false)
        try await wait(until: "bob has it") {
            try await bob.received("kept.bin", in: toAlice.reference)?.status == .rcvComplete
        }
        return (relays, alice, bob)
    }

    private func close(_ relays: OfficialRelays, _ people: [LivePerson]) async throws {
        for person in people { await person.core.shutDown() }
        try await relays.stop()
    }

    /// The core's own answer about a chat, without the index.
    private func told(_ reference: ChatReference, by person: LivePerson) async throws -> APIChatInfo? {
        guard case .activeUser(let user) = try await person.transport.request(.user),
            case .chats(let chats) = try await person.transport.request(.chats(user: user.id, count: 100))
        else { throw WaitedInVain("no chats") }
        return chats.first { $0.reference.chat == reference }
    }

    private func refusal(_ reference: ChatReference, of person: LivePerson) async throws -> String? {
        try await person.core.chats().first { $0.reference == reference }?.sendingRefused
    }

    @Test("a rename sets the core's local alias")
    func renaming() async throws {
        let (relays, alice, bob) = try await opened()
        let chat = try await alice.chat("bob")
        #expect(!chat.isNamedByUser)
        for name in ["Bob from work", "größe \"x\" \\ 🦊", "notify=off", "bob"] {
            try await alice.core.renameChat(chat.reference, to: name)
            let renamed = try await alice.chat(name)
            #expect(renamed.reference == chat.reference && renamed.isNamedByUser)
            #expect(try await told(chat.reference, by: alice)?.displayName == name)
        }
        #expect(try await bob.chat("alice").isNamedByUser == false)
        await #expect(throws: ChatError.self) { try await alice.core.renameChat(chat.reference, to: "") }
        try await close(relays, [alice, bob])
    }

    @Test("leaving ends the connection and keeps files")
    func leaving() async throws {
        let (relays, alice, bob) = try await opened()
        let (toBob, toAlice) = (
            try await alice.chat("bob").reference, try await bob.chat("alice").reference
        )
        try await bob.core.leaveChat(toAlice)
        #expect(try await refusal(toAlice, of: bob) != nil)
        #expect(try await told(toAlice, by: bob)?.sendingRefused != nil)
        try await wait(until: "alice is told") { try await refusal(toBob, of: alice) != nil }
        let file = try #require(try await bob.received("kept.bin", in: toAlice))
        let place = try #require(try await bob.core.location(of: file.id))
        #expect(access(place.path, F_OK) == 0)
        await #expect(throws: ChatError.self) { _ = try await bob.send([1], "late.bin", to: toAlice) }
        await #expect(throws: ChatError.self) { _ = try await alice.send([1], "late.bin", to: toBob) }
        await #expect {
            try await bob.core.leaveChat(toAlice)
        } throws: {
            ($0 as? ChatError)?.code == .invalidCommand
        }
        try await bob.core.deleteChat(toAlice)
        #expect(try await told(toAlice, by: bob) == nil)
        #expect(access(place.path, F_OK) != 0)
        try await close(relays, [alice, bob])
    }

    @Test("a deletion removes local files only")
    func deleting() async throws {
        let (relays, alice, bob) = try await opened()
        let (toBob, toAlice) = (
            try await alice.chat("bob").reference, try await bob.chat("alice").reference
        )
        let received = try #require(try await bob.received("kept.bin", in: toAlice))
        let place = try #require(try await bob.core.location(of: received.id))
        let sent = try #require(try await alice.received("kept.bin", in: toBob))
        let copy = try #require(try await alice.core.location(of: sent.id))
        try await alice.core.deleteChat(toBob)
        #expect(try await alice.core.chats().allSatisfy { $0.reference != toBob })
        #expect(try await told(toBob, by: alice) == nil)
        #expect(access(copy.path, F_OK) != 0)
        try await wait(until: "bob is told") { try await refusal(toAlice, of: bob) != nil }
        #expect(access(place.path, F_OK) == 0)
        await #expect {
            try await alice.core.deleteChat(toBob)
        } throws: {
            ($0 as? ChatError)?.code == .noSuchChat
        }
        try await close(relays, [alice, bob])
    }

    @Test("a deletion ends current transfers")
    func busy() async throws {
        let (relays, alice, bob) = try await opened()
        let (toBob, toAlice) = (
            try await alice.chat("bob").reference, try await bob.chat("alice").reference
        )
        _ = try await alice.send(SystemRandomSource().bytes(9_000_000), "film.bin", to: toBob)
        try await wait(until: "bob can receive it") {
            try await bob.received("film.bin", in: toAlice)?.status == .rcvInvitation(described: true)
        }
        let offer = try #require(try await bob.received("film.bin", in: toAlice))
        relays.files.send(SIGSTOP)
        try await bob.core.receiveFile(offer.id, approvedRelays: false)
        _ = try await alice.send(SystemRandomSource().bytes(9_000_000), "second.bin", to: toBob)
        try await alice.core.leaveChat(toBob)
        try await wait(until: "bob is told") { try await refusal(toAlice, of: bob) != nil }
        try await bob.core.deleteChat(toAlice)
        relays.files.send(SIGCONT)
        #expect(try await bob.core.chats().allSatisfy { $0.reference != toAlice })
        await #expect(throws: ChatError.self) {
            try await bob.core.receiveFile(offer.id, approvedRelays: false)
        }
        try await wait(until: "the upload is known to be cancelled") {
            try await alice.received("second.bin", in: toBob)?.status == .sndCancelled
        }
        try await close(relays, [alice, bob])
    }
}
