import Agent
import Base
import ChatCore
import ChatProtocol
import Network
import SMP
import SMPClient
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// A peer with its own agent that can introduce itself in any way.
private final class Stranger: Sendable {
    let agent: Agent
    private let server: ServerAddress
    private let connections: QueueConnections
    private let requests = Lock<[ContactRequestID]>([])
    private let folder: TemporaryFolder

    init(_ internet: Internet) async throws {
        folder = try TemporaryFolder()
        server = internet.server
        connections = QueueConnections(
            ConnectionSettings(policy: OutboundPolicy(chosen: internet.server.places)))
        let agent = try Agent(
            path: folder.path("agent.sqlite"), key: nil, servers: connections,
            settings: AgentSettings(servers: [server]))
        self.agent = agent
        try await agent.start()
        let requests = requests
        Task {
            for await event in agent.events {
                if case .requested(let id, _) = event.content { requests.withLock { $0.append(id) } }
                try? await agent.acknowledge(event: event.number, withReceipt: false)
            }
        }
    }

    func stop() async {
        await agent.stop()
        await connections.close()
    }

    func invite(_ kind: Invitation.Kind, saying event: MessageEvent) async throws -> ConnectionLinks {
        try await agent.invite(
            Invitation(kind: kind, server: server, information: Self.information(event), linkData: nil)
        ).links
    }

    /// Accepts the first request at its address.
    func answer(saying event: MessageEvent) async throws {
        let request = try await wait(for: "a request") { requests.withLock { $0.first } }
        _ = try await agent.accept(request, information: Self.information(event))
    }

    @discardableResult
    func join(_ link: String, saying event: MessageEvent, later: MessageEvent? = nil) async throws
        -> ConnectionID
    {
        try await agent.join(
            link: link, information: Self.information(event),
            confirmation: Self.information(later ?? event))
    }

    func say(_ event: MessageEvent, over id: ConnectionID) async throws {
        let message = ChatMessage(event, id: SharedMessageID(from: SystemRandomSource()))
        let body = try ChatBody.write(message, capacity: .message, compression: nil)
        _ = try await agent.send(body, to: id, notifies: false, identifier: nil)
    }

    private static func information(_ event: MessageEvent) throws -> [UInt8] {
        try ChatBody.write(ChatMessage(event, id: nil), capacity: .information, compression: nil)
    }
}

@Suite("Reasons of connections")
struct ConnectionReasonTests {
    private let internet: Internet
    private let alice: Machine
    private let mallory: Stranger

    private static let person = MessageEvent.information(ContactProfile(displayName: "mallory"))
    private static let request = MessageEvent.contactRequest(
        MessageEvent.ContactRequest(profile: ContactProfile(displayName: "mallory"), requestID: nil))
    private static let host = MemberReference(id: MemberID(bytes: Array("host".utf8))!, role: .owner)
    private static let own = MemberReference(id: MemberID(bytes: Array("own".utf8))!, role: .member)
    private static let carol = MemberInformation(
        MemberReference(id: MemberID(bytes: Array("carol".utf8))!, role: .member),
        profile: ContactProfile(displayName: "carol"))

    private static func group(isBusiness: Bool = false) -> MessageEvent {
        .group(
            .linkInvitation(
                GroupLinkInvitation(
                    host: host, hostName: "mallory", invited: own, profile: GroupProfile(displayName: "trap"),
                    isBusiness: isBusiness)))
    }

    init() async throws {
        internet = try Internet()
        alice = try internet.machine("alice")
        try await alice.open()
        mallory = try await Stranger(internet)
    }

    private func end() async throws {
        await mallory.stop()
        try await alice.core.shutDown()
    }

    /// The connection whose peer sent a forbidden introduction.
    private func refused() async throws -> ConnectionID {
        let store = try alice.core.store
        return try await wait(for: "a refused introduction") {
            try store.read { tables in
                try tables.people.open().first { try tables.people.failure(of: $0) != nil }
            }
        }
    }

    /// The introduction had no effect except its record.
    private func expectNothing() async throws {
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes"])
        #expect(try alice.core.store.read { try $0.memberConnections.unfinished() }.isEmpty)
    }

    @Test("joiner of an invitation cannot start a group")
    func ownInvitation() async throws {
        let made = try await alice.core.invite()
        let connection = try await mallory.join(made.link, saying: Self.group())
        #expect(try await refused().number == made.connection)
        try await mallory.say(.group(.introduction(Self.carol)), over: connection)
        let told = await refusal { try await alice.core.contact(of: made.connection) }
        #expect(told?.sentence.contains("connect with a new link") == true)
        // Wait for a later contact, so that earlier events are processed.
        try await alice.reopen()
        try await expectNothing()
        try await end()
    }

    @Test("requester at an automatic address cannot start a group")
    func requester() async throws {
        let link = try await alice.core.createAddress(.automatically).link
        try await mallory.join(link, saying: Self.request, later: Self.group())
        let id = try await refused()
        #expect(try alice.core.store.read { try $0.people.person(id)?.reason } == .requester)
        try await expectNothing()
        try await end()
    }

    @Test("inviter cannot start a group")
    func givenInvitation() async throws {
        let link = try await mallory.invite(.oneTime, saying: Self.group()).full.link
        let number = try await alice.core.accept(link)
        #expect(try await refused().number == number)
        try await expectNothing()
        try await end()
    }

    @Test("only a business address can start a group")
    func givenAddress() async throws {
        let link = try await mallory.invite(.address, saying: .nothingToSay).full.link
        let number = try await alice.core.accept(link)
        try await mallory.answer(saying: Self.group())
        #expect(try await refused().number == number)
        try await expectNothing()
        await mallory.stop()
        let business = try await Stranger(internet)
        let other = try await business.invite(.address, saying: .nothingToSay).full.link
        let joined = try await alice.core.accept(other)
        try await business.answer(saying: Self.group(isBusiness: true))
        let chat = try await wait(for: "the business") { try await alice.core.contact(of: joined) }
        #expect(chat.displayName == "trap")
        await business.stop()
        try await alice.core.shutDown()
    }

    @Test("group link does not create a contact")
    func groupLink() async throws {
        var link = try await mallory.invite(.address, saying: .nothingToSay).full
        link.data = #"{"groupLinkId":"Zm9v","type":"group"}"#
        let number = try await alice.core.accept(link.link)
        try await mallory.answer(saying: Self.person)
        #expect(try await refused().number == number)
        try await expectNothing()
        try await end()
    }

    @Test("pretended member is rejected")
    func member() async throws {
        let made = try await alice.core.invite()
        try await mallory.join(
            made.link,
            saying: .group(.memberInformation(Self.carol.reference.id, ContactProfile(displayName: "carol"))))
        #expect(try await refused().number == made.connection)
        try await expectNothing()
        try await end()
    }

    @Test("contact's own link is not a group link")
    func ownLinkAgain() async throws {
        let link = try await mallory.invite(.oneTime, saying: Self.person).full.link
        let number = try await alice.core.accept(link)
        _ = try await wait(for: "the contact") { try await alice.core.contact(of: number) }
        let invitation = GroupInvitation(
            host: Self.host, invited: Self.own, link: link, profile: GroupProfile(displayName: "trap"))
        let connections = try await mallory.agent.connections(in: .connected)
        try await mallory.say(.group(.invitation(invitation)), over: try #require(connections.first))
        let request = try #require(try await alice.requests(1).first)
        let refused = await refusal { try await alice.core.acceptRequest(request.number) }
        #expect(refused?.sentence.contains("another connection's") == true)
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes", "mallory"])
        try await end()
    }

    // MARK: - The value

    private static let reasons: [ConnectionReason] = [
        .ownInvitation, .ownAddress, .requester, .givenInvitation, .givenAddress(.contact),
        .givenAddress(.group), .givenAddress(.unknown), .groupInvitation(chat: 7),
        .member(carol.reference.id, chat: 7),
    ]

    @Test("permitted introductions match the table")
    func table() {
        let said: [(String, MessageEvent)] = [
            ("info", Self.person), ("request", Self.request), ("group", Self.group()),
            ("business", Self.group(isBusiness: true)), ("ok", .nothingToSay),
            ("refusal", .group(.linkRejection(reason: "x"))),
            ("carol", .group(.memberInformation(Self.carol.reference.id, Self.carol.profile))),
            ("other", .group(.memberInformation(Self.host.id, Self.carol.profile))),
            ("invitation", .group(.introduction(Self.carol))), ("end", .contactDeleted),
        ]
        let admitted = Self.reasons.map { reason in
            said.filter { reason.admits($0.1) }.map(\.0).joined(separator: " ")
        }
        #expect(
            admitted == [
                "info", "", "info", "info", "info business refusal", "group business refusal",
                "info group business refusal", "ok", "carol",
            ])
    }

    @Test("reasons round-trip as text")
    func texts() {
        for reason in Self.reasons { #expect(ConnectionReason(text: reason.text) == reason) }
        for text in [
            "", "own", "given address", "given address x", "member 7", "member 7 0", "group invitation x",
        ] {
            #expect(ConnectionReason(text: text) == nil)
        }
    }
}
