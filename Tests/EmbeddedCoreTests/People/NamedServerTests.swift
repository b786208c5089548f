import Agent
import Base
import ChatCore
import ChatProtocol
import GroupHosting
import SMP
import TestSupport
import Testing

@testable import EmbeddedCore

/// Peers that name servers inside this machine's own network.
@Suite("Servers that peers name")
struct NamedServerTests {
    @Test("invented members' servers are not contacted")
    func members() async throws {
        let club = try await Club(["alice"])
        try await club.admit(club["alice"])
        let inside = try Internet()
        // Creates links there, as a peer that knows the server.
        let accomplice = try await GroupHost(at: inside.server)
        for number in 1...20 {
            let id = try #require(MemberID(bytes: Array("m\(number)".utf8)))
            let invented = MemberInformation(
                MemberReference(id: id, role: .member), profile: ContactProfile(displayName: "m\(number)"))
            let made = try await accomplice.agent.invite(
                Invitation(kind: .oneTime, server: inside.server, information: [1], linkData: nil))
            try await club.host.say(.group(.newcomer(invented, link: made.links.full.link)), to: "alice")
        }
        let alice = try club["alice"]
        let (directory, profile) = (alice.world.directory, try alice.core.profile)
        try await wait(until: "it is refused") {
            try directory.refusedServers(of: profile) == [inside.server]
        }
        #expect(inside.connectionCount == 1, "the accomplice's")
        #expect(try await alice.core.networkWaiting().refused == [inside.server])
        await accomplice.stop()
        await inside.stop()
        try await club.end()
    }

    @Test("link into own network works after approval")
    func link() async throws {
        let (internet, inside) = (try Internet(), try Internet())
        let (alice, bob) = (try internet.machine("alice"), try inside.machine("bob"))
        let link = try await bob.open().invite().link
        let core = try await alice.open()
        let refused = await refusal { try await core.accept(link) }
        #expect(refused?.sentence.contains("chatfs approve \(inside.server.text)") == true)
        try alice.world.directory.approveServers([inside.server], for: core.profile)
        try bob.world.directory.approveServers([internet.server], for: bob.core.profile)
        let number = try await wait(for: "a connection") { try? await core.accept(link) }
        _ = try await wait(for: "the contact") { try await core.contact(of: number) }
        try await alice.core.shutDown()
        try await bob.core.shutDown()
    }

    @Test("links in one contact's invitations share a budget")
    func invitations() async throws {
        let alice = try Internet().machine("alice")
        let agent = try await alice.open().people.agent()
        /// Returns the reason why a link to another server is not opened.
        @Sendable func problem(_ port: UInt16, _ reason: ConnectionReason) async throws -> String {
            let link = try ShortLink(
                kind: .invitation, server: Self.inside(port), id: [UInt8](repeating: 1, count: 24),
                key: [UInt8](repeating: 2, count: 32))
            let error = await #expect(throws: AgentError.self) {
                try await agent.join(
                    link: #require(link).link, information: [], confirmation: [], reason: reason.text)
            }
            return error?.sentence ?? ""
        }
        // At once: the budget grows while a busy machine works through them.
        let problems = try await withThrowingTaskGroup(of: String.self) { group in
            for port in UInt16(1)...30 {
                group.addTask { try await problem(port, .groupInvitation(chat: 7)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(problems.contains { $0.contains("chatfs approve") })
        #expect(problems.contains { $0.contains("too many servers") })
        for reason in [ConnectionReason.groupInvitation(chat: 8), .givenInvitation] {
            #expect(try await problem(31, reason).contains("chatfs approve"))
        }
        try await alice.core.shutDown()
    }

    private static func inside(_ port: UInt16) throws -> ServerAddress {
        try #require(
            ServerAddress(
                fingerprint: [UInt8](repeating: 7, count: 32), hosts: ["127.0.0.1"], port: port))
    }

    @Test("further servers are reported after an hour")
    func refusedServers() async throws {
        let world = try World(["alice"])
        let core = try await world.open("alice")
        let refused = RefusedServers(core.store)
        for port in UInt16(1)...40 { refused.note(try Self.inside(port)) }
        world.clock.advance(by: .seconds(3600))
        refused.note(try Self.inside(41))
        let (first, last) = (try Self.inside(40), try Self.inside(41))
        try await wait(until: "the last one is listed") {
            try world.directory.refusedServers(of: core.profile).contains(last)
        }
        #expect(try !world.directory.refusedServers(of: core.profile).contains(first))
        await core.shutDown()
    }

    @Test("group members and strangers share one peer name")
    func peers() throws {
        let id = ConnectionID(5)
        let member = try #require(MemberID(bytes: [1]))
        let peers = [
            ConnectionReason.member(member, chat: 7).text, ConnectionReason.requester.text,
            ConnectionReason.groupInvitation(chat: 7).text, ConnectionReason.ownInvitation.text, nil,
            "nonsense",
        ].map { ProfileAgent.peer(id, $0) }
        #expect(
            peers == ["group 7", "strangers", "inviter 7", "connection 5", "connection 5", "connection 5"])
    }
}
