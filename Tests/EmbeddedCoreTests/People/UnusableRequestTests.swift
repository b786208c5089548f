import Base
import ChatCore
import ChatProtocol
import Network
import SMP
import SMPClient
import TestSupport
import Testing

@testable import Agent
@testable import EmbeddedCore

/// Requests whose links cannot be joined, at an address that accepts automatically.
@Suite struct UnusableRequestTests {
    private let internet: Internet
    private let alice: Machine
    private let link: String

    init() async throws {
        internet = try Internet()
        alice = try internet.machine("alice")
        link = try await alice.open().createAddress(.automatically).link
    }

    private func agent() async throws -> Agent { try #require(try await alice.core.people.agent() as? Agent) }

    /// Sends 70 requests with this link to alice's address.
    private func ask(with link: String) async throws {
        let connections = QueueConnections(
            ConnectionSettings(policy: OutboundPolicy(chosen: internet.server.places)))
        let known = try await agent().connections().first { $0.condition.phase == .address }
        let address = try #require(known?.links?.full.queues.first).address
        let profile = ContactProfile(displayName: "eve")
        let envelope = AgentEnvelope(
            version: 7,
            .invitation(
                link: link, information: Array(ChatMessage(.information(profile), id: nil).json.utf8)))
        let random = SystemRandomSource()
        for _ in 0..<70 {
            let queue = SendingQueue.fresh(address, version: 4, use: .request, random: random)
            let body = try queue.body(of: envelope.encoded, isFirst: true, nonce: random.bytes(24))
            let request = ClientRequest(
                .send(flags: [UInt8(ascii: "T")], body: body), of: address.senderID)
            #expect(try await connections.ask(request, of: internet.server) == .ok)
        }
        await connections.close()
    }

    /// Number of requests that the agent keeps.
    private func kept() async throws -> Int {
        try await agent().stored { tables in
            try (Int64(1)...200).count { try tables.links.request(ContactRequestID($0)) != nil }
        }
    }

    /// Opens a machine that sends a valid request and becomes a contact.
    private func connect(_ name: String) async throws {
        let guest = try internet.machine(name)
        let joined = try await guest.open().accept(link)
        _ = try await wait(for: "the contact at \(name)'s") { try await guest.core.contact(of: joined) }
        try await guest.core.shutDown()
    }

    @Test func unreadableLinksAreDropped() async throws {
        try await ask(with: "x")
        try await connect("bob")
        try await wait(until: "the agent keeps none") { try await kept() == 0 }
        #expect(try await alice.core.requests().isEmpty)
        try await alice.core.shutDown()
    }

    @Test func failedAcceptancesCountAndLeaveNothing() async throws {
        let made = try await agent().invite(
            Invitation(kind: .oneTime, server: internet.server, linkData: nil))
        var request = made.links.full
        guard case .invitation(var offer) = request.kind else { return }
        offer.versions = 60_000...60_001
        request.kind = .invitation(offer)
        try await ask(with: request.link)
        let bob = try internet.machine("bob")
        _ = try await bob.open().accept(link)
        let waiting = 70 - ArrivedRequests.maxAccepted + 1
        #expect(try await alice.requests(waiting).last?.name == "bob")
        try await wait(until: "the agent keeps only these") { try await kept() == waiting }
        #expect(await attempt { try await alice.core.acceptRequest(alice.core.requests()[0].number) } != nil)
        #expect(try await kept() == waiting - 1)
        // An hour later.
        alice.world.clock.advance(by: .seconds(3601))
        try await connect("carol")
        let rows = try alice.world.database().read { connection in
            try connection.first("SELECT count(*) AS count FROM contact_request") { $0.integer("count") }
        }
        #expect(rows == Int64(waiting))
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }
}
