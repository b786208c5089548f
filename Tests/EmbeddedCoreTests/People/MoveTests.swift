import Agent
import Base
import ChatCore
import SMP
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Moving a contact's queue")
struct MoveTests {
    /// Returns the servers on which a profile with one contact receives.
    private func servers(_ machine: Machine) async throws -> [ServerAddress] {
        try await machine.core.people.agent().connections().flatMap(\.servers)
    }

    private func add(_ server: ServerAddress, to machine: Machine) throws {
        let directory = machine.world.directory
        try directory.addMessagingServers([server], to: directory.profile(named: machine.name))
    }

    /// Approves a server, like `chatfs approve`.
    private func approve(_ server: ServerAddress, at machine: Machine) throws {
        let directory = machine.world.directory
        try directory.approveServers([server], for: directory.profile(named: machine.name))
    }

    private func converse(_ alice: Machine, _ bob: Machine, _ text: String) async throws {
        for (machine, other) in [(alice, bob), (bob, alice)] {
            try await machine.core.send(
                ComposedText(id: "\(machine.name) \(text)", text: text),
                to: machine.core.chat(named: other.name))
            try await wait(until: "\(other.name) has it") {
                try await Line.all(other.core.log(of: machine.name)).contains {
                    $0.text == text && $0.direction == "received"
                }
            }
        }
    }

    @Test("move without another server fails with remedy")
    func alone() async throws {
        let (alice, bob) = try await Internet().pair()
        let chat = try await alice.core.chat(named: "bob")
        let error = await refusal { try await alice.core.moveQueue(of: chat) }
        #expect(error?.code == .invalidCommand)
        #expect(error?.sentence.contains("chatfs relay add") == true, "\(String(describing: error))")
        try await converse(alice, bob, "where it was")
        let notes = try await alice.core.chat(named: "Saved notes")
        #expect(await refusal { try await alice.core.moveQueue(of: notes) }?.code == .invalidCommand)
        #expect(await refusal { try await alice.core.moveQueue(of: .direct(99)) }?.code == .noSuchChat)
        try await alice.core.shutDown()
        #expect(await refusal { try await alice.core.moveQueue(of: chat) } != nil)
        try await bob.core.shutDown()
    }

    @Test("contact uses the new server and can move back")
    func moved() async throws {
        let (first, second) = (try Internet(), try Internet())
        let (alice, bob) = try await first.pair()
        try await converse(alice, bob, "before")
        let chat = try await alice.core.chat(named: "bob")
        let code = try await alice.core.security(of: chat)?.code
        try add(second.server, to: alice)
        try approve(second.server, at: bob)
        try await alice.core.moveQueue(of: chat)
        // A repeated move under way has no further effect.
        try await alice.core.moveQueue(of: chat)
        try await converse(alice, bob, "meanwhile")
        try await wait(until: "it has moved") { try await servers(alice) == [second.server] }
        #expect(try await alice.core.security(of: chat)?.code == code)
        #expect(try await servers(bob) == [first.server], "the other direction is bob's")
        // The move survives a restart and an outage of the new server.
        try await alice.reopen()
        await second.stop()
        try second.start()
        try await converse(alice, bob, "there")
        try await alice.core.moveQueue(of: chat)
        try await wait(until: "it has moved back") { try await servers(alice) == [first.server] }
        try await converse(alice, bob, "and back")
        let texts = try await Line.all(alice.core.log(of: "bob")).filter { $0.direction == "received" }
        #expect(texts.compactMap(\.text) == ["before", "meanwhile", "there", "and back"])
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("file arrives while its recipient moves")
    func file() async throws {
        let (first, second) = (try Internet(), try Internet())
        let (alice, bob) = try await first.pair()
        try add(second.server, to: bob)
        try approve(second.server, at: alice)
        try await bob.core.moveQueue(of: bob.core.chat(named: "alice"))
        let bytes = pattern(300_000)
        let chat = try await alice.core.chat(named: "bob")
        _ = try await alice.core.send(alice.core.compose(bytes), to: chat)
        let offered = try await bob.core.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        let file = try #require(offered.file?.id)
        try await bob.core.receiveFile(file, approvedRelays: false)
        let received = try await bob.core.item(in: "alice") { $0 == .rcvComplete }
        #expect(try received.content() == bytes)
        try await wait(until: "bob has moved") { try await servers(bob) == [second.server] }
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("interrupted move is finished by next process")
    func ended() async throws {
        let (first, second) = (try Internet(), try Internet())
        let (alice, bob) = try await first.pair()
        try add(second.server, to: alice)
        try approve(second.server, at: bob)
        // The new queue cannot be created before the kill.
        await second.stop()
        try await alice.core.moveQueue(of: alice.core.chat(named: "bob"))
        try await alice.reopen()
        try await converse(alice, bob, "before it is made")
        #expect(try await servers(alice).contains(first.server))
        try second.start()
        try await wait(until: "it has moved") { try await servers(alice) == [second.server] }
        try await converse(alice, bob, "on the new server")
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("move into own network waits for approval")
    func refused() async throws {
        let (first, second) = (try Internet(), try Internet())
        let (alice, bob) = try await first.pair()
        let (events, heard) = (try bob.core.events(), Lock<[String]>([]))
        let listening = Task {
            for await event in events {
                if case .serverRefused(let server) = event { heard.withLock { $0.append(server) } }
            }
        }
        defer { listening.cancel() }
        try add(second.server, to: alice)
        try await alice.core.moveQueue(of: alice.core.chat(named: "bob"))
        try await wait(until: "bob's user is told") { heard.withLock { $0 } == [second.server.text] }
        let (directory, profile) = (bob.world.directory, try bob.core.profile)
        #expect(try directory.refusedServers(of: profile) == [second.server])
        #expect(second.connectionCount == 1, "alice's own")
        try approve(second.server, at: bob)
        #expect(try directory.approvedServers(of: profile).map(\.text) == [second.server.text])
        #expect(try directory.refusedServers(of: profile).isEmpty)
        try await bob.core.relaysWereApproved()
        try await wait(until: "it has moved") { try await servers(alice) == [second.server] }
        try await converse(alice, bob, "there")
        #expect(try directory.revokeServers([second.server], of: profile) == [second.server])
        #expect(try directory.approvedServers(of: profile).isEmpty)
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("local contact cannot be moved")
    func here() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let core = try await world.open("alice")
        let error = await refusal { try await core.moveQueue(of: core.chat(named: "bob")) }
        #expect(error?.code == .invalidCommand && error?.sentence.contains("this machine") == true)
        await core.shutDown()
    }
}
