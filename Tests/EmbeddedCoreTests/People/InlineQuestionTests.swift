import Agent
import Base
import ChatCore
import ChatProtocol
import GroupHosting
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Requests for inline files")
struct InlineQuestionTests {
    private static let id = SharedMessageID(bytes: [7])!

    /// A profile whose contact has offered a file, and an agent that reports a given result for each message.
    private func stage(
        _ outcome: @escaping @Sendable (Int64) -> AgentEvent.Content?
    ) async throws -> (world: World, core: EmbeddedCore, agent: ToldAgent, file: FileID) {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: true, outcome: outcome)
        let first = try await world.open("alice")
        try first.store.commit { change in
            let chat = try change.tables.chats.insertContact(
                "bob", of: first.profile.id, at: world.clock.now())
            try change.tables.people.insert(ConnectionID(1))
            try change.tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: "bob"), versions: 1...16),
                of: ConnectionID(1), chat: chat)
            let message = NewMessage(
                ChatContent(.file), file: FileInvitation(name: "a", size: 20_000, way: .offeredInline))
            let side = ChatSide(profile: first.profile.id, chat: chat)
            let received = IncomingMessage(
                MessageKey(Self.id, by: .contact), message, at: world.clock.now())
            _ = try ArrivedMessages(change: change, side: side, sender: "bob").perform([.received(received)])
        }
        await first.shutDown()
        let core = try await world.open("alice", over: agent.making)
        let file = try #require(try await core.newest(in: "bob").file)
        #expect(file.status == .rcvInvitation(described: true) && file.transport == .smp)
        return (world, core, agent, file.id)
    }

    @Test("failed request is shown and can be repeated")
    func inVain() async throws {
        let (world, core, agent, file) = try await stage {
            $0 == 1 ? .messageFailed(message: 1, .queueFull) : nil
        }
        try await core.receiveFile(file, approvedRelays: false)
        let failed = try await core.item(in: "bob") { if case .rcvAborted = $0 { true } else { false } }
        guard case .rcvAborted(let problem)? = failed.file?.status else { return }
        #expect(problem.kind == .unreachable && problem.sentence.hasSuffix(FailureReason.queueFull.sentence))
        try await core.receiveFile(file, approvedRelays: false)
        try await wait(until: "it is asked for again") { agent.sent == 2 }
        #expect(try await core.newest(in: "bob").file?.status == .rcvAccepted)
        await core.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test("receipt for a request does not affect the file")
    func receipt() async throws {
        let (world, core, agent, file) = try await stage { .delivered(message: $0) }
        try await core.receiveFile(file, approvedRelays: false)
        try await wait(until: "it was asked for") { agent.sent == 1 }
        try await wait(until: "the answer is taken in") {
            try core.store.read { try $0.people.lastEvent() } == 1
        }
        let found = try await core.newest(in: "bob").file
        #expect(found?.isDelivered == false && found?.status == .rcvAccepted)
        await core.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test("refused request leaves no transfer")
    func refusedRequest() async throws {
        let (world, core, agent, file) = try await stage { _ in nil }
        let profile = core.profile.id
        try core.store.commit { change in
            try change.tables.people.end(ConnectionID(1))
            let chat = try change.tables.chats.id(of: .direct(2), of: profile)
            #expect(try change.tables.people.connection(ofChat: chat) == nil)
        }
        #expect(
            await refusal { try await core.receiveFile(file, approvedRelays: false) }?.code == .file(.expired)
        )
        guard case .rcvError(let problem)? = try await core.newest(in: "bob").file?.status else {
            Issue.record("the entry does not say so")
            return
        }
        #expect(problem.kind == .expired && agent.sent == 0)
        await core.shutDown()
        withExtendedLifetime(world) {}
    }

    // MARK: - In groups

    private func offer(
        _ name: String, _ way: FileInvitation.Way, by club: Club, to machine: String
    ) async throws -> InlineChunk {
        let id = try #require(SharedMessageID(bytes: SystemRandomSource().bytes(8)))
        let bytes = Array("content of \(name)".utf8)
        let invitation = FileInvitation(name: name, size: UInt64(bytes.count), way: way)
        let message = ChatMessage(.message(NewMessage(ChatContent(.file), file: invitation)), id: id)
        try await club.host.send(ChatBody.write(message, capacity: .message, compression: nil), to: machine)
        return InlineChunk(of: id, number: 1, bytes: bytes)
    }

    private func item(
        _ name: String, at machine: Machine, when condition: (FileStatus) -> Bool
    ) async throws -> ChatItem {
        try await wait(for: "\(name) at \(machine.name)") {
            let chat = try await machine.core.chat(named: "club")
            let items = try await machine.core.items(of: chat, before: nil, count: 9)
            let item = items.first { $0.file?.name == name }
            return item?.file.map { condition($0.status) } == true ? item : nil
        }
    }

    @Test("group file is requested from its sender directly")
    func members() async throws {
        let club = try await Club(["alice"])
        let alice = try club["alice"]
        try await club.admit(alice)
        let sent = try await offer("sent", .sentInline, by: club, to: "alice")
        try await club.host.send(sent.encoded, to: "alice")
        #expect(try await item("sent", at: alice) { $0 == .rcvComplete }.content() == sent.bytes)

        let offered = try await offer("offered", .offeredInline, by: club, to: "alice")
        let entry = try await item("offered", at: alice) { $0 == .rcvInvitation(described: true) }
        try await alice.core.receiveFile(#require(entry.file).id, approvedRelays: false)
        try await wait(until: "the member is asked") {
            club.host.heard(from: "alice").contains(.fileAccepted(offered.id, name: "offered"))
        }
        let late = try await offer("late", .offeredInline, by: club, to: "alice")
        try await club.host.send(offered.encoded, to: "alice")
        #expect(try await item("offered", at: alice) { $0 == .rcvComplete }.content() == offered.bytes)

        try await club.host.say(.group(.left), to: "alice")
        let lost = try await item("late", at: alice) { $0.failure != nil }
        #expect(lost.file?.status.failure?.kind == .expired && late.number == 1)
        let file = try #require(lost.file).id
        #expect(
            await refusal { try await alice.core.receiveFile(file, approvedRelays: false) }?.code
                == .file(.expired))
        try await club.end()
    }
}
