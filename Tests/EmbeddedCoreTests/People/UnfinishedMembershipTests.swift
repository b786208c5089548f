import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

/// Kills between steps of a member's connection, and members that exceed limits.
@Suite("Unfinished connections with members")
struct UnfinishedMembershipTests {
    /// Alice and bob in a club without introductions.
    private func stage() async throws -> (club: Club, alice: Machine, bob: Machine) {
        let club = try await Club(["alice", "bob"])
        club.host.stopIntroducing()
        for machine in club.machines { try await club.admit(machine) }
        return (club, try club["alice"], try club["bob"])
    }

    private func chat(of machine: Machine) async throws -> Int64 {
        let reference = try await machine.core.chat(named: "club")
        return try machine.core.store.read { try $0.chats.id(of: reference, of: machine.core.profile.id) }
    }

    private func id(_ name: String) throws -> MemberID { try #require(MemberID(bytes: Array(name.utf8))) }

    private func information(_ name: String, _ role: MemberRole = .member) throws -> MemberInformation {
        MemberInformation(
            MemberReference(id: try id(name), role: role), profile: ContactProfile(displayName: name))
    }

    @Test("unstored link is deleted and created again")
    func lostLink() async throws {
        let (club, alice, bob) = try await stage()
        let agent = try await alice.core.people.agent()
        let known = try await agent.connections().count
        _ = try await agent.invite(
            Invitation(kind: .oneTime, server: club.internet.server, information: [1], linkData: nil))
        #expect(try await agent.connections().count == known + 1)
        // Bob is introduced, and the program is killed before any work.
        let chat = try await chat(of: alice)
        try alice.core.store.commit { change in
            try change.tables.groups.keep(
                GroupMember(id: id("bob"), role: .member, profile: ContactProfile(displayName: "bob")),
                of: chat)
            try change.tables.memberConnections.begin(
                MemberConnection(to: id("bob"), introducer: club.host.reference.id), in: chat,
                at: change.elapsed
            )
        }
        try await alice.reopen()
        try await wait(until: "the pair is connected") { club.host.isMesh }
        #expect(try alice.phases() == ["connected"] && bob.phases() == ["connected"])
        // Connections with the host, the contact and bob.
        let left = try await alice.core.people.agent().connections()
        #expect(left.count == known + 1 && left.allSatisfy { $0.condition.phase == .connected })
        try await club.end()
    }

    @Test(
        "joined but unstored link keeps its connection"
    )
    func lostJoining() async throws {
        let (club, alice, bob) = try await stage()
        // Bob creates a link for alice, as if she had introduced herself.
        let (chatOfBob, chatOfAlice) = (try await chat(of: bob), try await chat(of: alice))
        let made = try await bob.core.people.agent().invite(
            Invitation(
                kind: .oneTime, server: club.internet.server,
                information: OwnIntroduction(store: bob.core.store).memberInformation(id("bob")),
                linkData: nil))
        try bob.core.store.commit { change in
            try change.tables.groups.keep(
                GroupMember(id: id("alice"), role: .member, profile: ContactProfile(displayName: "alice")),
                of: chatOfBob)
            let connection = MemberConnection(to: try id("alice"), introducer: club.host.reference.id)
            try change.tables.memberConnections.begin(connection, in: chatOfBob, at: change.elapsed)
            var row = try #require(
                try change.tables.memberConnections.row(with: id("alice"), in: chatOfBob))
            _ = row.state.made("")
            row.number = made.connection
            try change.tables.people.insert(made.connection)
            try change.tables.memberConnections.keep(row)
        }
        // Alice's program joins the link, and bob writes before that is stored.
        let link = made.links.full.link
        try alice.core.store.commit { change in
            try change.tables.groups.keep(
                GroupMember(id: id("bob"), role: .member, profile: ContactProfile(displayName: "bob")),
                of: chatOfAlice)
            try change.tables.memberConnections.begin(
                MemberConnection(
                    to: id("bob"), introducer: club.host.reference.id, phase: .toJoin, link: link),
                in: chatOfAlice, at: change.elapsed)
        }
        let own = try OwnIntroduction(store: alice.core.store).memberInformation(id("alice"))
        let reason = ConnectionReason.member(try id("bob"), chat: chatOfAlice)
        _ = try await alice.core.people.agent().join(
            link: link, information: own, confirmation: own, reason: reason.text)
        try await wait(until: "bob is connected") { try bob.phases() == ["connected"] }
        club.host.stopPassingOn()
        try await bob.write("early")
        // Unless another event has woken alice's program, which then does the same.
        try await wait(until: "alice holds it") {
            let isHeard = try await !alice.heard().isEmpty
            return try isHeard
                || alice.stored("SELECT CAST(id AS TEXT) AS found FROM early_message").count >= 2
        }
        // Alice writes; the host no longer forwards to bob.
        try await alice.write("meanwhile")
        try await alice.reopen()
        #expect(try await alice.hears(1) == ["bob: early"])
        #expect(try await bob.hears(1) == ["alice: meanwhile"])
        try await wait(until: "alice is connected") { try alice.phases() == ["connected"] }
        #expect(try alice.stored("SELECT CAST(id AS TEXT) AS found FROM held_outgoing").isEmpty)
        #expect(try alice.stored("SELECT CAST(id AS TEXT) AS found FROM early_message").isEmpty)
        try await wait(until: "the host knows it") { club.host.isMesh }
        try await club.end()
    }

    @Test(
        "wrong person on a member's link is rejected"
    )
    func wrongPerson() async throws {
        let (club, alice, _) = try await stage()
        try await club.host.say(.group(.introduction(information("dave"))), to: "alice")
        let link = try await wait(for: "alice's link for dave") {
            club.host.heard(from: "alice").lazy.compactMap { event -> String? in
                if case .group(.memberInvitation(_, let link)) = event { link } else { nil }
            }.first
        }
        let eve = try ChatBody.write(
            ChatMessage(
                .group(.memberInformation(id("mallory"), ContactProfile(displayName: "mallory"))), id: nil),
            capacity: .information, compression: nil)
        _ = try await club.host.agent.join(link: link, information: eve, confirmation: eve)
        try await wait(until: "the connection is gone") { try alice.phases().isEmpty }
        let names = try alice.stored("SELECT CAST(introduction AS TEXT) AS found FROM network_member")
        #expect(names.contains { $0.contains("dave") } && !names.contains { $0.contains("mallory") })
        try await club.end()
    }

    @Test("useless links and addresses are not joined")
    func uselessLinks() async throws {
        let (club, alice, bob) = try await stage()
        let address = try await club.host.agent.invite(
            Invitation(kind: .address, server: club.internet.server, linkData: nil))
        for (name, link) in [("dave", "nonsense"), ("erin", address.links.full.link)] {
            try await club.host.say(.group(.newcomer(information(name), link: link)), to: "alice")
        }
        try await club.host.say(.group(.newMember(information("frank"))), to: "alice")
        try await wait(until: "alice knows frank") {
            try alice.stored("SELECT CAST(member AS TEXT) AS found FROM network_member").contains("frank")
        }
        try await wait(until: "nothing is left to be joined") { try alice.phases().isEmpty }
        try await bob.write("hello")
        #expect(try await alice.hears(1) == ["bob: hello"])
        try await club.end()
    }

    @Test(
        "one link from two members connects the first")
    func oneLinkTwice() async throws {
        let (club, alice, _) = try await stage()
        let agent = try await alice.core.people.agent()
        let known = try await agent.connections().count
        func link(of name: String) async throws -> String {
            let own = try OwnIntroduction(store: alice.core.store).memberInformation(id(name))
            return try await club.host.agent.invite(
                Invitation(kind: .oneTime, server: club.internet.server, information: own, linkData: nil)
            ).links.full.link
        }
        let (twice, once) = (try await link(of: "dave"), try await link(of: "frank"))
        for (name, link) in [("dave", twice), ("erin", twice), ("frank", once)] {
            try await club.host.say(.group(.newcomer(information(name), link: link)), to: "alice")
        }
        try await club.host.say(.group(.introduction(information("grace"))), to: "alice")
        let members =
            "SELECT CAST(member AS TEXT) || ' ' || phase AS found FROM member_connection ORDER BY member"
        try await wait(until: "all but one have theirs") {
            try alice.stored(members) == ["dave connected", "frank connected", "grace invited"]
        }
        // The first member keeps its connection.
        let left = try await agent.connections()
        #expect(left.count == known + 3 && left.allSatisfy { $0.condition.phase != .deleting })
        try await club.end()
    }

    @Test("unstorable member connection does not block others")
    func hopelessRow() async throws {
        let (club, alice, _) = try await stage()
        try alice.world.database().transaction {
            try $0.executeScript(
                """
                CREATE TRIGGER hopeless BEFORE UPDATE ON member_connection WHEN OLD.member = CAST('dave' AS BLOB)
                BEGIN SELECT RAISE(ABORT, 'hopeless'); END
                """)
        }
        for name in ["dave", "erin"] {
            let link = try await club.host.agent.invite(
                Invitation(
                    kind: .oneTime, server: club.internet.server,
                    information: OwnIntroduction(store: alice.core.store).memberInformation(id(name)),
                    linkData: nil)
            ).links.full.link
            try await club.host.say(.group(.newcomer(information(name), link: link)), to: "alice")
        }
        try await wait(until: "erin is connected") { try alice.phases() == ["toJoin", "connected"] }
        try await club.host.say(.group(.introduction(information("frank"))), to: "alice")
        try await wait(until: "a link for frank") {
            try alice.phases() == ["toJoin", "connected", "invited"]
        }
        try await club.end()
    }

    @Test(
        "introductions are limited per group and day"
    )
    func flood() async throws {
        let (club, alice, _) = try await stage()
        let chat = try await chat(of: alice)
        let store = try alice.core.store
        func begin(_ numbers: Range<Int64>) throws {
            try store.commit { change in
                for number in numbers {
                    let connection = MemberConnection(
                        to: try id("m\(number)"), introducer: club.host.reference.id, phase: .connected)
                    try change.tables.memberConnections.begin(connection, in: chat, at: change.elapsed)
                }
            }
        }
        try begin(0..<400)
        #expect(try alice.phases().count == 250)
        for round in Int64(1)...9 {
            try store.commit { try $0.tables.memberConnections.endAll(in: chat) }
            try begin(round * 1000..<round * 1000 + 100)
        }
        #expect(try alice.phases().isEmpty, "500 have been begun")
        alice.world.clock.jump(by: .seconds(86_401))
        try begin(30_000..<30_010)
        #expect(try alice.phases().isEmpty, "a wall clock that is set forgets nothing")
        alice.world.clock.advance(by: .seconds(86_401))
        try begin(20_000..<20_010)
        #expect(try alice.phases().count == 10)
        try store.commit { try $0.tables.memberConnections.endAll(in: chat) }
        try await club.end()
    }

    @Test(
        "silent member's messages are dropped after three days"
    )
    func silent() async throws {
        let (club, alice, bob) = try await stage()
        let chat = try await chat(of: alice)
        try await club.host.say(.group(.introduction(information("dave"))), to: "alice")
        try await wait(until: "a link for dave") { try alice.phases() == ["invited"] }
        let waiting = { () throws -> Int in
            try alice.core.store.read {
                try $0.memberConnections.carrying(in: chat, at: $0.directory.elapsed).count
            }
        }
        #expect(try waiting() == 1)
        try alice.core.store.commit { change in
            let row = try #require(try change.tables.memberConnections.row(with: id("dave"), in: chat))
            try change.memberAnswered(row)
        }
        #expect(try waiting() == 1)
        alice.world.clock.advance(by: .seconds(3 * 86_400 + 1))
        #expect(try waiting() == 0)
        try await alice.write("hello")
        #expect(try await bob.hears(1) == ["alice: hello"])
        try await club.end()
    }

    @Test("deleted group leaves no member connections")
    func deleted() async throws {
        let (club, alice, _) = try await stage()
        let before = try await alice.core.people.agent().connections().count
        try await club.host.say(.group(.introduction(information("dave"))), to: "alice")
        try await wait(until: "a link for dave") { try alice.phases() == ["invited"] }
        try await alice.core.deleteChat(alice.core.chat(named: "club"))
        try await wait(until: "nothing is left of it") { try alice.phases().isEmpty }
        try await wait(until: "the agent has only the contact") {
            try await alice.core.people.agent().connections().count == before - 1
        }
        try await club.end()
    }
}
