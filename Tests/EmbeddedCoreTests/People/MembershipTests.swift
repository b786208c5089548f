import Agent
import Base
import ChatCore
import ChatProtocol
import GroupHosting
import TestSupport
import Testing

@testable import EmbeddedCore

/// A group with some machines as members, and its host.
struct Club {
    let internet: Internet
    let host: GroupHost
    let machines: [Machine]

    init(_ names: [String] = ["alice", "bob", "carol"]) async throws {
        internet = try Internet()
        host = try await GroupHost(at: internet.server)
        machines = try names.map { [internet] in try internet.machine($0) }
        for machine in machines { try await machine.open() }
    }

    /// Connects all members with each other.
    func connect() async throws {
        for machine in machines { try await admit(machine) }
        try await wait(until: "each pair is connected") { host.isMesh }
    }

    /// The host connects to the machine, invites it and introduces it.
    func admit(_ machine: Machine, as role: MemberRole = .member) async throws {
        try await host.invite(machine.name, over: machine.core.invite().link, as: role)
        let request = try await wait(for: "the invitation") { try await machine.core.requests().first }
        let number = try await machine.core.acceptRequest(request.number)
        _ = try await wait(for: "the group") { try await machine.core.contact(of: number) }
        try await host.introduce(machine.name)
    }

    func end() async throws {
        await host.stop()
        for machine in machines { try await machine.core.shutDown() }
    }

    subscript(_ name: String) -> Machine {
        get throws {
            guard let machine = machines.first(where: { $0.name == name }) else {
                throw WaitedInVain("there is no \(name)")
            }
            return machine
        }
    }
}

extension Machine {
    func write(_ text: String, into chat: String = "club") async throws {
        try await core.send(ComposedText(id: text, text: text), to: core.chat(named: chat))
    }

    /// Returns texts of other authors in a group's log, with their names.
    func heard(in chat: String = "club") async throws -> [String] {
        try await Line.all(core.log(of: chat)).filter { $0.event == "message" && $0.direction == "received" }
            .map { "\($0.sender ?? ""): \($0.text ?? "")" }
    }

    func hears(_ count: Int, in chat: String = "club") async throws -> [String] {
        try await wait(for: "\(name) hears \(count) texts") {
            let heard = try await heard(in: chat)
            return heard.count >= count ? heard : nil
        }
    }

    /// Returns rows of its database as text.
    func stored(_ query: String) throws -> [String] {
        try world.database().read { try $0.query(query) { $0.text("found") } }
    }

    /// Phases of its connections with members.
    func phases() throws -> [String] {
        try stored("SELECT phase AS found FROM member_connection ORDER BY member")
    }
}

@Suite("Members of network groups")
struct MembershipTests {
    @Test("connected members need no host")
    func mesh() async throws {
        let club = try await Club()
        try await club.connect()
        club.host.stopPassingOn()
        for machine in club.machines { try await machine.write("from \(machine.name)") }
        for machine in club.machines {
            let others = club.machines.map(\.name).filter { $0 != machine.name }
            #expect(Set(try await machine.hears(2)) == Set(others.map { "\($0): from \($0)" }))
        }
        let alice = try club["alice"]
        // All members have it, so it is delivered.
        try await wait(until: "alice's text is delivered") {
            try await alice.lines(of: "club", count: 0).contains { $0.state == "delivered" }
        }
        #expect(try alice.stored("SELECT CAST(id AS TEXT) AS found FROM group_delivery").isEmpty)
        #expect(
            try alice.stored("SELECT phase AS found FROM member_connection") == ["connected", "connected"])
        try await club.end()
    }

    @Test("file reaches each member directly")
    func files() async throws {
        let club = try await Club()
        try await club.connect()
        club.host.stopPassingOn()
        let bob = try club["bob"]
        _ = try await bob.core.send(bob.core.compose(pattern(5000)), to: bob.core.chat(named: "club"))
        for name in ["alice", "carol"] {
            let item = try await club[name].core.item(in: "club") { $0 == .rcvInvitation(described: true) }
            #expect(item.sender == "bob" && item.file?.name == "report.pdf")
        }
        try await wait(until: "it is delivered") {
            try await bob.core.newest(in: "club").file?.isDelivered == true
        }
        try await bob.core.deleteItems(
            [bob.core.newest(in: "club").id], in: bob.core.chat(named: "club"), mode: .broadcast)
        for name in ["alice", "carol"] {
            try await wait(until: "it is gone at \(name)'s") {
                let machine = try club[name]
                return try await machine.core.items(
                    of: machine.core.chat(named: "club"), before: nil, count: 9
                ).isEmpty
            }
        }
        try await club.end()
    }

    @Test("unconnected members hear through the host once")
    func unconnected() async throws {
        let club = try await Club()
        club.host.stopIntroducing()
        for machine in club.machines { try await club.admit(machine) }
        for machine in club.machines { try await machine.write("from \(machine.name)") }
        for machine in club.machines { #expect(try await machine.hears(2).count == 2) }
        #expect(try club["alice"].phases().isEmpty)
        try await club.end()
    }

    @Test("messages arrive once while connections are made")
    func overlapping() async throws {
        let club = try await Club()
        for (number, machine) in club.machines.enumerated() {
            try await club.admit(machine)
            for other in club.machines[...number] { try await other.write("\(other.name) \(number)") }
        }
        try await wait(until: "each pair is connected") { club.host.isMesh }
        for machine in club.machines { try await machine.write("last") }
        for (number, machine) in club.machines.enumerated() {
            // Messages written after the member joined.
            let expected = club.machines.indices.filter { $0 != number }.flatMap { other in
                (max(number, other)..<3).map {
                    "\(club.machines[other].name): \(club.machines[other].name) \($0)"
                }
                    + ["\(club.machines[other].name): last"]
            }
            let heard = try await wait(for: "\(machine.name) hears all") {
                let heard = try await machine.heard()
                return Set(expected).isSubset(of: Set(heard)) ? heard : nil
            }
            #expect(heard.count == Set(heard).count, "\(heard)")
        }
        try await club.end()
    }

    @Test("leaving member is no longer written to")
    func leaving() async throws {
        let club = try await Club()
        try await club.connect()
        club.host.stopPassingOn()
        let bob = try club["bob"]
        try await bob.core.leaveChat(bob.core.chat(named: "club"))
        for name in ["alice", "carol"] {
            try await wait(until: "\(name) has one connection") { try club[name].phases() == ["connected"] }
        }
        #expect(club.host.heard(from: "bob").contains(.group(.left)))
        try await club["alice"].write("after")
        #expect(try await club["carol"].hears(1) == ["alice: after"])
        #expect(try await bob.heard().isEmpty && bob.phases().isEmpty)
        try await club.end()
    }

    @Test("removal ends all connections of the member")
    func removal() async throws {
        let club = try await Club()
        try await club.connect()
        let bob = try #require(club.host.id(of: "bob"))
        try await club.host.sayToAll(.group(.removal(bob, withMessages: false)))
        club.host.forget("bob")
        let machine = try club["bob"]
        try await wait(until: "bob is told") {
            try await machine.core.chats().contains {
                $0.sendingRefused == "You were removed from this group."
            }
        }
        try await wait(until: "bob's connections are gone") { try machine.phases().isEmpty }
        for name in ["alice", "carol"] {
            try await wait(until: "\(name) has one connection") { try club[name].phases() == ["connected"] }
        }
        try await club.end()
    }

    @Test("group continues without its host")
    func hostLeaves() async throws {
        let club = try await Club(["alice", "bob"])
        try await club.connect()
        try await club.host.sayToAll(.group(.left))
        let alice = try club["alice"]
        try await wait(until: "alice has no connection with the host") {
            try alice.stored("SELECT phase AS found FROM member_connection") == ["connected"]
                && alice.stored(
                    "SELECT CAST(number AS TEXT) AS found FROM connection WHERE is_ended = 1"
                ).count == 1
        }
        try await alice.write("still here")
        #expect(try await club["bob"].hears(1) == ["alice: still here"])
        try await club["bob"].core.leaveChat(club["bob"].core.chat(named: "club"))
        try await wait(until: "alice is alone") {
            try await alice.core.chats().contains {
                $0.sendingRefused == "No member of this group can be reached at present."
            }
        }
        await #expect(throws: ChatError.self) { try await alice.write("anybody?") }
        try await club.end()
    }

    @Test("observer reads directly but may not write")
    func observer() async throws {
        let club = try await Club()
        for machine in club.machines {
            try await club.admit(machine, as: machine.name == "bob" ? .observer : .member)
        }
        try await wait(until: "each pair is connected") { club.host.isMesh }
        club.host.stopPassingOn()
        try await club["alice"].write("hello")
        #expect(try await club["bob"].hears(1) == ["alice: hello"])
        let refused = await attempt { try await club["bob"].write("me too") }
        #expect(refused?.sentence == "Your role in this group only lets you read.")
        // Messages from another program of the observer are ignored.
        let bob = try club["bob"]
        try bob.core.store.commit { change in
            let chat = try #require(try change.tables.groups.group(over: change.tables.people.open()[1])).chat
            let message = ChatMessage(
                .message(NewMessage(ChatContent(.text, text: "me"))),
                id: SharedMessageID(from: SystemRandomSource()))
            #expect(try change.say(message, in: chat))
        }
        try await club["carol"].write("end")
        #expect(try await club["alice"].hears(1) == ["carol: end"])
        try await club.end()
    }

    @Test("name, role and group changes reach all members")
    func changes() async throws {
        let club = try await Club()
        try await club.connect()
        club.host.stopPassingOn()
        let carol = try club["carol"]
        try carol.world.directory.renameProfile(
            carol.world.directory.profile(named: "carol"), to: "dora")
        for name in ["alice", "bob"] {
            try await wait(until: "\(name) knows dora") {
                try club[name].stored("SELECT CAST(introduction AS TEXT) AS found FROM network_member")
                    .contains { $0.contains("dora") }
            }
        }
        try await club.host.sayToAll(.group(.profile(GroupProfile(displayName: "book club"))))
        for machine in club.machines {
            try await wait(until: "\(machine.name) sees the new name") {
                try await machine.core.chats().contains { $0.displayName == "book club" }
            }
        }
        try await club.host.sayToAll(.group(.deleted))
        for machine in club.machines {
            try await wait(until: "\(machine.name) sees the end, and every connection is gone") {
                let chats = try await machine.core.chats()
                return try machine.phases().isEmpty
                    && chats.contains { $0.sendingRefused == "Its owner has deleted this group." }
            }
        }
        try await club.end()
    }
}
