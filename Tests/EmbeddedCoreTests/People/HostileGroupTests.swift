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

    private static let mallory = MemberID(bytes: [4])!

    @Test(
        "connected member of a full group can be expelled",
        arguments: [
            (.removal(mallory, withMessages: false), false), (.restriction(mallory, isBlocked: true), false),
            (.left, true),
        ] as [(GroupEvent, Bool)])
    func latecomer(_ event: GroupEvent, isOwn: Bool) async throws {
        let stage = try await Stage()
        try stage.world.database().transaction {
            try $0.execute(
                """
                WITH RECURSIVE number (n) AS
                (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(GroupTable.maxMembers))
                INSERT INTO network_member (chat, member, role, introduction, status, is_blocked)
                SELECT g.chat, CAST('member ' || n AS BLOB), 'author', x'00', 'heardOf', 0
                FROM number, network_group g
                """)
        }
        try stage.core.store.commit { change in
            var (chat, group) = try #require(try change.tables.groups.group(over: ConnectionID(1)))
            let stored = StoredConversation(chat, change.tables)
            let arrived = ArrivedMessages(
                change: change, side: ChatSide(profile: change.profile, chat: chat), sender: "club")
            func receive(_ event: MessageEvent, over sender: MemberID? = nil) throws {
                let message = ChatMessage(event, id: SharedMessageID(from: SystemRandomSource()))
                _ = try arrived.perform(
                    group.receive(.message(message), at: change.time, over: sender, from: stored))
            }
            let newcomer = MemberInformation(
                MemberReference(id: Self.mallory, role: .member),
                profile: ContactProfile(displayName: "mallory"))
            try receive(.group(.newcomer(newcomer, link: "l")))
            let connections = change.tables.memberConnections
            var row = try #require(try connections.row(with: Self.mallory, in: chat))
            row.state = MemberConnection(to: Self.mallory, introducer: Self.host, phase: .connected)
            row.number = ConnectionID(3)
            try change.tables.people.insert(ConnectionID(3))
            try connections.keep(row)

            try receive(.group(event), over: isOwn ? Self.mallory : nil)
            let phase = try connections.row(with: Self.mallory, in: chat)?.state.phase
            if case .restriction = event { #expect(phase == .connected) } else { #expect(phase == .toEnd) }
            let file = FileInvitation(name: "a.exe", size: 10)
            try receive(.message(NewMessage(ChatContent(.file), file: file)), over: Self.mallory)
        }
        let chat = try await stage.core.chat(named: "club")
        #expect(try await stage.core.items(of: chat, before: nil, count: 10).isEmpty)
        await stage.core.shutDown()
    }
}
