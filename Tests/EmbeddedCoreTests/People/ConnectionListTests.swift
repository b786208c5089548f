import Agent
import Base
import ChatCore
import ChatProtocol
import Network
import Posix
import SMP
import SMPClient
import TestSupport
import Testing

@testable import EmbeddedCore

/// A peer that sends valid requests and invalid answers.
private final class Stranger: Sendable {
    private let agent: Agent
    private let connections: QueueConnections
    private let folder: TemporaryFolder
    private let listening: Task<Void, Never>

    init(at server: ServerAddress) async throws {
        folder = try TemporaryFolder()
        connections = QueueConnections(ConnectionSettings(policy: OutboundPolicy(chosen: server.places)))
        let agent = try Agent(
            path: folder.path("agent.sqlite"), key: nil, servers: connections,
            settings: AgentSettings(servers: [server]))
        self.agent = agent
        try await agent.start()
        listening = Task {
            for await event in agent.events {
                try? await agent.acknowledge(event: event.number, withReceipt: false)
            }
        }
    }

    func ask(at link: String) async throws {
        let request = MessageEvent.ContactRequest(
            profile: ContactProfile(displayName: "eve"), requestID: nil, message: nil)
        _ = try await agent.join(
            link: link, information: Array(ChatMessage(.contactRequest(request), id: nil).json.utf8),
            confirmation: Array(#"{"v":"1-16","event":"x.never.heard.of","params":{}}"#.utf8))
    }

    func stop() async {
        listening.cancel()
        await agent.stop()
        await connections.close()
    }
}

@Suite("Connection list")
struct ConnectionListTests {
    private static func all(_ machine: Machine) async throws -> [ListedConnection] {
        try await machine.core.connections(after: 0, count: 100)
    }

    @Test("stuck requester is listed and can be deleted")
    func stranger() async throws {
        let internet = try Internet()
        let alice = try internet.machine("alice")
        let link = try await alice.open().createAddress(.automatically).link
        let eve = try await Stranger(at: internet.server)
        try await eve.ask(at: link)
        let found = try await wait(for: "the stranger in the list") {
            try await Self.all(alice).first { $0.purpose == .unknown }
        }
        #expect(found.servers == [internet.server.text] && found.chat == nil && found.isDeletable)
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes"])
        #expect(try await alice.core.requests().isEmpty)
        let before = try await internet.queueCount()
        try await alice.core.deleteConnection(found.number)
        try await wait(until: "it is gone here and there") {
            guard try await Self.all(alice).map(\.purpose) == [.address] else { return false }
            return try await internet.queueCount() == before - 1
        }
        #expect(
            await refusal { try await alice.core.deleteConnection(found.number) }?.code == .invalidCommand)
        await eve.stop()
        try await alice.core.shutDown()
    }

    @Test("contacts, address and links show their purpose")
    func purposes() async throws {
        let internet = try Internet()
        let (alice, bob) = (try internet.machine("alice"), try internet.machine("bob"))
        let open = try await alice.open().invite()
        let invitation = try await alice.core.invite()
        let joined = try await bob.open().accept(invitation.link)
        _ = try await wait(for: "bob's contact") { try await bob.core.contact(of: joined) }
        _ = try await wait(for: "alice's contact") {
            try await alice.core.contact(of: invitation.connection)
        }
        _ = try await alice.core.createAddress(nil)
        let listed = try await Self.all(alice)
        #expect(listed.map(\.purpose) == [.invitation, .contact, .address])
        #expect(listed[1].name == "bob" && listed.allSatisfy { $0.servers == [internet.server.text] })
        #expect(try await alice.core.connections(after: listed[0].number, count: 1) == [listed[1]])
        for connection in listed.dropFirst() {
            let refused = await refusal { try await alice.core.deleteConnection(connection.number) }
            #expect(refused?.code == .invalidCommand)
        }
        try await alice.core.deleteConnection(open.connection)
        try await wait(until: "the link is gone") {
            try await Self.all(alice).map(\.purpose) == [.contact, .address]
        }
        for machine in [alice, bob] { try await machine.core.shutDown() }
    }

    @Test("profile without contacts opens no agent")
    func none() async throws {
        let world = try World(["alice"])
        let core = try await world.open("alice")
        #expect(try await core.connections(after: 0, count: 10).isEmpty)
        #expect(await refusal { try await core.deleteConnection(1) }?.code == .invalidCommand)
        await core.shutDown()
    }
}
