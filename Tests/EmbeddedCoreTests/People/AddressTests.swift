import Agent
import Base
import ChatCore
import ChatProtocol
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Contact address")
struct AddressTests {
    @Test("accepted requesters become contacts")
    func asking() async throws {
        let internet = try Internet()
        let alice = try internet.machine("alice")
        let link = try await alice.open().createAddress(nil).link
        #expect(try await alice.core.createAddress(nil) == ContactAddress(link: link, acceptance: .ask))
        #expect(try await alice.core.address()?.link == link)
        var guests: [(machine: Machine, connection: Int64)] = []
        for name in ["bob", "carol"] {
            let machine = try internet.machine(name)
            let connection = try await machine.open().accept(link)
            #expect(try await machine.core.accept(link) == connection)
            guests.append((machine, connection))
            _ = try await alice.requests(guests.count)
        }
        #expect(try await guests[0].machine.core.contact(of: guests[0].connection) == nil)
        let requests = try await alice.core.requests()
        #expect(requests.map(\.name) == ["bob", "carol"])
        for (guest, request) in zip(guests, requests) {
            let connection = try await alice.core.acceptRequest(request.number)
            #expect(try await alice.core.acceptRequest(request.number) == connection)
            _ = try await wait(for: "the contact at alice's") {
                try await alice.core.contact(of: connection).flatMap {
                    $0.displayName == request.name ? $0 : nil
                }
            }
            _ = try await wait(for: "the contact at \(guest.machine.name)'s") {
                try await guest.machine.core.contact(of: guest.connection)
            }
            #expect(try await guest.machine.core.chats().last?.displayName == "alice")
        }
        #expect(try await alice.core.requests().isEmpty)
        for machine in guests.map(\.machine) + [alice] { try await machine.core.shutDown() }
    }

    @Test("rejected requester may ask again")
    func rejecting() async throws {
        let internet = try Internet()
        let (alice, bob) = (try internet.machine("alice"), try internet.machine("bob"))
        let link = try await alice.open().createAddress(nil).link
        _ = try await bob.open().accept(link)
        let number = try #require(try await alice.requests(1).first).number
        try await alice.core.rejectRequest(number)
        #expect(try await alice.core.requests().isEmpty)
        #expect(await refusal { try await alice.core.rejectRequest(number) }?.code == .invalidCommand)
        #expect(await refusal { try await alice.core.acceptRequest(99) }?.code == .invalidCommand)
        try await wait(until: "the agent has forgotten it") {
            try alice.core.store.read { try $0.requests.all(.rejected).isEmpty }
        }
        #expect(await refusal { try await alice.core.acceptRequest(number) }?.code == .invalidCommand)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test(
        "start deletes links and addresses without rows")
    func lost() async throws {
        let internet = try Internet()
        let alice = try internet.machine("alice")
        let address = try await alice.open().createAddress(nil).link
        let invitation = try await alice.core.invite()
        let agent = try await alice.core.people.agent()
        let known = Set(try await agent.connections().map(\.id))
        for kind in [Invitation.Kind.oneTime, .address] {
            _ = try await agent.invite(Invitation(kind: kind, server: internet.server, linkData: nil))
        }
        #expect(try await agent.connections().count == known.count + 2)
        try await alice.reopen()
        let next = try await alice.core.people.agent()
        try await wait(until: "only the known are there") {
            Set(try await next.connections().map(\.id)) == known
        }
        #expect(try await alice.core.address()?.link == address)
        let bob = try internet.machine("bob")
        let joined = try await bob.open().accept(invitation.link)
        _ = try await wait(for: "bob's contact") { try await bob.core.contact(of: joined) }
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("automatic acceptance continues after restart")
    func automatically() async throws {
        let internet = try Internet()
        let (alice, bob) = (try internet.machine("alice"), try internet.machine("bob"))
        let link = try await alice.open().createAddress(.automatically).link
        try await alice.reopen()
        let joined = try await bob.open().accept(link)
        _ = try await wait(for: "the contact at bob's") { try await bob.core.contact(of: joined) }
        _ = try await wait(for: "the contact at alice's") {
            try await alice.core.chats().first { $0.displayName == "bob" }
        }
        #expect(try await alice.core.requests().isEmpty)
        #expect(try await alice.core.createAddress(.ask).acceptance == .ask)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("deleted address drops requests but keeps contacts")
    func deleting() async throws {
        let internet = try Internet()
        let machines = try ["alice", "bob", "carol"].map { try internet.machine($0) }
        let (alice, bob, carol) = (machines[0], machines[1], machines[2])
        #expect(await refusal { try await alice.open().deleteAddress() }?.code == .invalidCommand)
        let link = try await alice.core.createAddress(nil).link
        let joined = try await bob.open().accept(link)
        _ = try await alice.core.acceptRequest(try #require(try await alice.requests(1).first).number)
        _ = try await wait(for: "the contact at bob's") { try await bob.core.contact(of: joined) }
        try await alice.core.deleteAddress()
        #expect(try await alice.core.address() == nil)
        _ = try await carol.open()
        try await wait(until: "the server has lost it") {
            await attempt { try await carol.core.accept(link) }?.code == .invalidCommand
        }
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes", "bob"])
        #expect(try await alice.core.createAddress(nil).link != link)
        for machine in machines { try await machine.core.shutDown() }
    }

    @Test("link data shows the current name")
    func renamed() async throws {
        let internet = try Internet()
        let (alice, bob) = (try internet.machine("alice"), try internet.machine("bob"))
        let link = try await alice.open().createAddress(nil).link
        try alice.world.directory.renameProfile(alice.core.profile, to: "Alice B.")
        try await wait(until: "the server was told") {
            try alice.core.store.read { try $0.requests.address()?.untold == 0 }
        }
        _ = try await bob.open().accept(link)
        _ = try await alice.core.acceptRequest(try #require(try await alice.requests(1).first).number)
        _ = try await wait(for: "the new name at bob's") {
            try await bob.core.chats().first { $0.displayName == "Alice B." }
        }
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("acceptance behind another returns its connection")
    func overtaken() async throws {
        let internet = try Internet()
        let (alice, bob) = (try internet.machine("alice"), try internet.machine("bob"))
        let link = try await alice.open().createAddress(nil).link
        _ = try await bob.open().accept(link)
        let number = try #require(try await alice.requests(1).first).number
        let read = try #require(try alice.core.store.read { try $0.requests.request(number) })
        let connection = try await alice.core.acceptRequest(number)
        // As a caller that read the request before it was accepted.
        let retry = RetryPolicy(first: .seconds(1), maxDelay: .seconds(1), tries: .max)
        let answers = try RequestAnswers(alice.core.store, retry: retry, joined: {})
        #expect(try await answers.accept(read, alice.core.people.agent()).number == connection)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("answer given before a kill is carried out once")
    func killed() async throws {
        let internet = try Internet()
        let (alice, bob) = (try internet.machine("alice"), try internet.machine("bob"))
        let link = try await alice.open().createAddress(nil).link
        let joined = try await bob.open().accept(link)
        let number = try #require(try await alice.requests(1).first).number
        // State of a process killed before it told the agent.
        try alice.core.store.commit { try $0.tables.requests.setState(.accepted, of: number) }
        try await alice.reopen()
        _ = try await wait(for: "the contact at bob's") { try await bob.core.contact(of: joined) }
        let connection = try await alice.core.acceptRequest(number)
        _ = try await wait(for: "the contact at alice's") { try await alice.core.contact(of: connection) }
        #expect(try await alice.core.chats().count == 2)
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }
}

@Suite("Requests from strangers")
struct StrangerTests {
    private let world: World
    private let core: EmbeddedCore

    init() async throws {
        world = try World(["alice"])
        core = try await world.open("alice")
        try core.store.commit { try $0.tables.requests.insert(address: ConnectionID(1), link: "x", .ask) }
    }

    private func ask(
        _ number: Int64, _ name: String, id: String? = nil, text: String? = nil
    ) throws {
        let request = MessageEvent.ContactRequest(
            profile: ContactProfile(displayName: name), requestID: id.flatMap { SharedMessageID(text: $0) },
            message: text.map { ChatContent(.text, text: $0) })
        try ask(number, Array(ChatMessage(.contactRequest(request), id: nil).json.utf8))
    }

    private func ask(_ number: Int64, _ information: [UInt8]) throws {
        try core.store.commit { change in
            try ArrivedRequests(change: change, time: world.clock.now()).take(
                ContactRequestID(number), information, over: ConnectionID(1))
        }
    }

    private func forgotten() throws -> [Int64] {
        try core.store.read { try $0.requests.all(.rejected).map(\.asked.number) }
    }

    @Test("repeated request replaces the first")
    func again() async throws {
        try ask(1, "bob", id: "AAAA", text: "hello")
        try ask(2, "eve", id: "BBBB")
        try ask(3, "Bob", id: "AAAA", text: "please")
        #expect(
            try await core.requests().map { "\($0.number) \($0.name) \($0.text)" } == [
                "1 Bob please", "2 eve ",
            ])
        #expect(try forgotten() == [1])
        await core.shutDown()
    }

    @Test("waiting requests and their text are bounded")
    func many() async throws {
        for number in 1...130 {
            try ask(Int64(number), "n\(number)", text: String(repeating: "x", count: 5000))
        }
        let requests = try await core.requests()
        #expect(requests.count == 100 && requests.allSatisfy { $0.text.count == 4000 })
        #expect(try forgotten().count == 30)
        await core.shutDown()
    }

    @Test("automatic acceptance is limited per hour")
    func automatically() async throws {
        try core.store.commit { try $0.tables.requests.setAcceptance(.automatically) }
        for number in 1...70 { try ask(Int64(number), "n\(number)") }
        #expect(try await core.requests().count == 10)
        world.clock.jump(by: .seconds(3601))
        try ask(71, "early")
        #expect(try await core.requests().count == 11, "a wall clock that is set forgets nothing")
        world.clock.advance(by: .seconds(3601))
        try ask(72, "late")
        #expect(try await core.requests().count == 11)
        await core.shutDown()
    }

    @Test(
        "malformed request is rejected",
        arguments: ["", "{", "[]", #"{"event":"x.ok","params":{}}"#, #"{"event":"x.contact","params":{}}"#])
    func nonsense(_ text: String) async throws {
        try ask(1, Array(text.utf8))
        #expect(try await core.requests().isEmpty)
        #expect(try forgotten() == [1])
        await core.shutDown()
    }

    @Test("plain x.info counts as a request")
    func plain() async throws {
        let profile = ContactProfile(displayName: "bob\u{1b}[31m")
        try ask(1, Array(ChatMessage(.information(profile), id: nil).json.utf8))
        #expect(try await core.requests().count == 1)
        await core.shutDown()
    }
}

extension Machine {
    /// Returns the waiting requests once there are `count`.
    func requests(_ count: Int) async throws -> [WaitingRequest] {
        try await wait(for: "\(count) requests at \(name)'s") {
            let requests = try await core.requests()
            return requests.count == count ? requests : nil
        }
    }
}

/// Returns the error of `body`, or nil on success.
func attempt<Result>(_ body: () async throws -> Result) async -> ChatError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? ChatError
    }
}
