import Base
import ChatCore
import ChatProtocol
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Expiring messages between contacts")
struct RetentionTests {
    private func profile(_ machine: Machine) throws -> Profile {
        try machine.world.directory.profile(named: machine.name)
    }

    private func timeToLive(_ machine: Machine, _ name: String) async throws -> Duration? {
        try machine.world.directory.timeToLive(
            in: await machine.core.chat(named: name), of: profile(machine))
    }

    private func set(_ time: Duration?, _ machine: Machine, _ name: String) async throws {
        try machine.world.directory.setTimeToLive(
            time, in: await machine.core.chat(named: name), of: profile(machine))
    }

    private func setAndHear(_ time: Duration?, by one: Machine, _ other: Machine) async throws {
        try await set(time, one, other.name)
        try await wait(until: "\(other.name) has heard it") {
            try await timeToLive(other, one.name) == time
        }
    }

    /// Whether the data directory's files contain a text.
    private func holds(_ text: String, _ machine: Machine) async throws -> Bool {
        let data = machine.world.directory.path
        let found = try await Shell.run("grep", ["-rlF", text, data])
        return !found.output.isEmpty
    }

    @Test("either side sets the time for both")
    func negotiation() async throws {
        let (alice, bob) = try await Internet().pair()
        #expect(try await timeToLive(alice, "bob") == nil)
        try await setAndHear(.seconds(3600), by: alice, bob)
        try await setAndHear(nil, by: bob, alice)
        // The same setting repeated.
        try await setAndHear(.seconds(3600), by: alice, bob)
        try await setAndHear(.seconds(60), by: bob, alice)
        // A new name does not end it, in either order.
        try alice.world.directory.renameProfile(profile(alice), to: "alicia")
        try await wait(until: "bob sees the name") {
            try await bob.core.chats().contains { $0.displayName == "alicia" }
        }
        #expect(try await timeToLive(bob, "alicia") == .seconds(60))
        // Each side hears only of the other's changes.
        let told: [(machine: Machine, name: String, times: [Int64?])] = [
            (alice, "bob", [nil, 60]), (bob, "alicia", [3600, 3600]),
        ]
        for (machine, name, times) in told {
            let lines = try await Line.all(machine.core.log(of: name))
            #expect(lines.map(\.timeToLive) == times)
            #expect(lines.allSatisfy { $0.event == "retention" && $0.direction == "received" })
        }
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("expired message leaves no trace on either side")
    func gone() async throws {
        let (alice, bob) = try await Internet().pair()
        try await setAndHear(.seconds(3600), by: bob, alice)
        let chat = try await alice.core.chat(named: "bob")
        try await alice.core.send(ComposedText(id: UUIDText.fresh(), text: "marked-words"), to: chat)
        _ = try await alice.core.send(
            alice.core.compose(pattern(300_000), name: "marked-name.bin"), to: chat)
        let there = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        try await bob.core.receiveFile(try #require(there.file).id, approvedRelays: true)
        let received = try await bob.core.item(in: "alice") { $0 == .rcvComplete }
        let copy = try #require(received.file?.source).path
        try await set(nil, bob, "alice")
        try await wait(until: "alice has heard it") { try await timeToLive(alice, "bob") == nil }
        try await alice.core.send(ComposedText(id: UUIDText.fresh(), text: "staying"), to: chat)
        let before = try await wait(for: "all lines at bob's") {
            let log = try await bob.core.log(of: "alice")
            return String(decoding: log, as: UTF8.self).contains("staying") ? log : nil
        }
        for machine in [alice, bob] { await (try machine.core).disappearing.look() }
        #expect(try await bob.core.log(of: "alice") == before)

        for machine in [alice, bob] {
            let heard = Listener(try machine.core)
            machine.world.clock.advance(by: .seconds(3601))
            await (try machine.core).disappearing.look()
            try await heard.waits(for: "chatItemsDeleted")
            try await heard.waits(for: "messageLogGrew")
        }
        let after = try await bob.core.log(of: "alice")
        let lines = try Line.all(after)
        #expect(after.count == before.count)
        #expect(lines.map(\.event) == ["disappeared", "disappeared", "message"])
        #expect(lines[2].text == "staying")
        for (machine, name) in [(alice, "bob"), (bob, "alice")] {
            let chat = try await machine.core.chat(named: name)
            #expect(try await machine.core.items(of: chat, before: nil, count: 9).isEmpty)
        }
        #expect(access(copy, F_OK) != 0)
        for machine in [alice, bob] { try await machine.core.shutDown() }
        for machine in [alice, bob] {
            #expect(try await !holds("marked-words", machine), "\(machine.name)")
            #expect(try await !holds("marked-name", machine), "\(machine.name)")
        }
    }

    @Test("late events do not revive expired texts")
    func late() async throws {
        let (alice, bob) = try await Internet().pair()
        let id = try SharedMessageID.fresh()
        let text = NewMessage(ChatContent(.text, text: "first"), timeToLive: 60)
        try await alice.say(.message(text), id)
        try await alice.say(.update(MessageUpdate(id, content: ChatContent(.text, text: "second"))))
        _ = try await bob.lines(of: "alice", count: 2)
        bob.world.clock.advance(by: .seconds(61))
        await (try bob.core).disappearing.look()
        try await alice.say(.update(MessageUpdate(id, content: ChatContent(.text, text: "third"))))
        try await alice.say(.message(text), id)
        try await alice.say(.message(NewMessage(ChatContent(.text, text: "end"))))
        let lines = try await bob.lines(of: "alice", count: 3)
        #expect(lines.map(\.event) == ["disappeared", "disappeared", "message"])
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("contact that forbids expiry is not asked")
    func notAllowed() async throws {
        let (alice, bob) = try await Internet().pair()
        var preferences = Preferences()
        preferences[.timedMessages] = .no
        let stern = ContactProfile(displayName: "stern", preferences: preferences)
        try await alice.say(.information(stern))
        try await wait(until: "bob sees who it is") {
            try await bob.core.chats().contains { $0.displayName == "stern" }
        }
        let refused = await refusal { try await set(.seconds(60), bob, "stern") }
        #expect(refused?.code == .invalidCommand && refused?.sentence.contains("does not allow") == true)
        try await set(nil, bob, "stern")
        try await alice.say(
            .message(NewMessage(ChatContent(.text, text: "for good"), timeToLive: 1)))
        _ = try await bob.lines(of: "stern", count: 1)
        bob.world.clock.advance(by: .seconds(9))
        await (try bob.core).disappearing.look()
        #expect(try await bob.lines(of: "stern", count: 1).map(\.text) == ["for good"])
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("equal ids cannot blank another author's text")
    func sameID() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await bob.core.chat(named: "alice")
        try await bob.core.send(ComposedText(id: UUIDText.fresh(), text: "bob's own"), to: chat)
        let own = try await bob.lines(of: "alice", count: 1)[0]
        let id = try #require(Base64URL.decode(own.id).flatMap { SharedMessageID(bytes: $0) })
        try await alice.say(.message(NewMessage(ChatContent(.text, text: "x"), timeToLive: 1)), id)
        _ = try await bob.lines(of: "alice", count: 2)
        bob.world.clock.advance(by: .seconds(2))
        await (try bob.core).disappearing.look()
        let lines = try await wait(for: "the second text to go") {
            let lines = try await Line.all(bob.core.log(of: "alice")).filter { $0.event != "state" }
            return lines.last?.event == "disappeared" ? lines : nil
        }
        #expect(lines.map(\.event) == ["message", "disappeared"])
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }
}
