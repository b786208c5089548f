import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Hostile group hosts")
struct HostileGroupTests {
    static let (host, carol) = (MemberID(bytes: [1])!, MemberID(bytes: [3])!)

    /// A profile in a group with its host (connection 1) and carol (connection 2).
    final class Stage: Sendable {
        let world: World
        let core: EmbeddedCore
        let agent = ToldAgent(isEarly: false) { _ in nil }
        private let numbers = Lock(Int64(1_000_000))

        init() async throws {
            world = try World(["alice"])
            let first = try await world.open("alice")
            try first.store.commit { change in
                try change.join(
                    GroupConversation(
                        own: MemberReference(id: MemberID(bytes: [2])!, role: .member), host: host,
                        profile: GroupProfile(displayName: "club")),
                    over: ConnectionID(1),
                    host: GroupMember(id: host, role: .admin, profile: ContactProfile(displayName: "hans")),
                    of: change.profile, at: change.time)
                let chat = try #require(try change.tables.groups.group(over: ConnectionID(1))).chat
                try change.tables.groups.keep(
                    GroupMember(id: carol, role: .member, profile: ContactProfile(displayName: "carol")),
                    of: chat)
                let state = MemberConnection(to: carol, introducer: host, phase: .connected)
                try change.tables.memberConnections.begin(state, in: chat, at: change.elapsed)
                try change.tables.people.insert(ConnectionID(2))
                try change.tables.memberConnections.keep(
                    MemberConnectionTable.Stored(chat: chat, state: state, number: ConnectionID(2)))
            }
            await first.shutDown()
            core = try await world.open("alice", over: agent.making)
        }

        /// Delivers messages over a connection and waits until all replies are sent.
        func hear(_ messages: [ChatMessage], over connection: Int64) async throws {
            let number = numbers.withLock { number in
                number += 1
                return number
            }
            let body = Array("[\(messages.map(\.json).joined(separator: ","))]".utf8)
            let message = ReceivedMessage(body: body, received: world.clock.now(), integrity: .complete)
            agent.tell(.received(message), of: ConnectionID(connection), number: number)
            try await wait(until: "it is taken") { agent.isTaken(number) }
            try await wait(until: "all is sent") { try core.store.read { try $0.outgoing.first() == nil } }
        }
    }

    @Test("log marks messages for moderators")
    func scopes() async throws {
        let stage = try await Stage()
        let scopes = [nil, GroupScope(member: nil)]
        for (number, scope) in scopes.enumerated() {
            let id = SharedMessageID(bytes: [UInt8(number)])!
            let content = ChatContent(.text, text: "your passport")
            let new = ChatMessage(.message(NewMessage(content, scope: scope)), id: id)
            let edit = ChatMessage(
                .update(MessageUpdate(id, content: content, scope: scope)),
                id: SharedMessageID(bytes: [9, UInt8(number)]))
            try await stage.hear([new, edit], over: 1)
        }
        let log = String(decoding: try await stage.core.log(of: "club"), as: UTF8.self)
        let lines = log.split(separator: "\n")
        #expect(lines.map { $0.contains(#""scope":"support""#) } == [false, false, true, true])
        await stage.core.shutDown()
    }

    @Test("needless forwarding is answered once an hour")
    func passedOn() async throws {
        let stage = try await Stage()
        let message = ChatMessage(
            .message(NewMessage(ChatContent(.text, text: "hello"))), id: SharedMessageID(bytes: [1, 2, 3]))
        try await stage.hear([message], over: 2)
        #expect(stage.agent.sent == 0)
        let copy = ChatMessage(
            .group(
                .forwarded(
                    ForwardedMessage(author: Self.carol, message: message, time: stage.world.clock.now()))),
            id: nil)
        let copies = Array(repeating: copy, count: 255)
        try await stage.hear(copies, over: 1)
        try await stage.hear(copies, over: 1)
        #expect(stage.agent.sent == 1)
        stage.world.clock.advance(by: .seconds(3600))
        try await stage.hear(copies, over: 1)
        #expect(stage.agent.sent == 2)
        await stage.core.shutDown()
    }
}
