import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Expiring files before their announcement")
struct AnnouncedFileTests {
    /// A profile with one chat, a retention of one minute, and an agent controlled by the test.
    private final class Stage: Sendable {
        let world: World
        let core: EmbeddedCore
        let agent: ToldAgent
        let chat: ChatReference
        private let events = Lock<Int64>(1_000_000)

        /// - Parameter members: number of group members besides the host; nil for a contact's chat.
        init(members: Int? = nil, isEarly: Bool = false) async throws {
            world = try World(["alice"])
            agent = ToldAgent(isEarly: isEarly) { isEarly ? .sent(message: $0) : nil }
            let first = try await world.open("alice")
            try first.store.commit { change in
                if let members {
                    try Self.found(members, change)
                } else {
                    let id = ConnectionID(1)
                    try change.tables.people.insert(id)
                    let chat = try change.tables.chats.insertContact(
                        "friends", of: change.profile, at: change.time)
                    var contact = ContactProfile(displayName: "friends")
                    contact.preferences.timeToLive = 60
                    contact.preferences[.timedMessages] = .yes
                    try change.tables.people.keep(
                        ContactConversation(profile: contact, versions: 1...16), of: id, chat: chat)
                }
            }
            await first.shutDown()
            try world.database().transaction { try $0.execute("UPDATE chat SET ttl = 60") }
            core = try await world.open("alice", over: agent.making)
            chat = try await core.chat(named: "friends")
        }

        private static func found(_ members: Int, _ change: ProfileChange) throws {
            func id(_ number: Int) throws -> MemberID { try #require(MemberID(bytes: [UInt8(number)])) }
            let host = MemberReference(id: try id(0), role: .owner)
            var profile = GroupProfile(displayName: "friends")
            profile.preferences[.timedMessages] = GroupPreferences.Setting(isOn: true)
            profile.preferences.timeToLive = 60
            try change.join(
                GroupConversation(
                    own: MemberReference(id: id(200), role: .member), host: host.id, profile: profile),
                over: ConnectionID(1),
                host: GroupMember(host: host, profile: ContactProfile(displayName: "hans")),
                of: change.profile, at: change.time)
            let chat = try #require(try change.tables.groups.group(over: ConnectionID(1))).chat
            for number in 1...members {
                let (state, connection) = (
                    MemberConnection(to: try id(number), introducer: host.id, phase: .connected),
                    ConnectionID(Int64(number + 1))
                )
                try change.tables.memberConnections.begin(state, in: chat, at: change.elapsed)
                try change.tables.people.insert(connection)
                try change.tables.memberConnections.keep(
                    MemberConnectionTable.Stored(chat: chat, state: state, number: connection))
            }
        }

        func tell(_ content: AgentEvent.Content, of connection: Int64 = 1) async throws {
            let number = events.withLock { number in
                number += 1
                return number
            }
            agent.tell(content, of: ConnectionID(connection), number: number)
            try await wait(until: "it is taken") { agent.isTaken(number) }
        }

        /// Sends a file and waits until the agent has `count` messages.
        func send(handing count: Int) async throws {
            _ = try await core.send(core.compose(pattern(300_000)), to: chat)
            _ = try await core.item(in: "friends") { $0 == .sndComplete }
            try await wait(until: "the agent has all") { agent.sent == count }
            try await wait(until: "it is noted what they are") {
                try world.database().read { try !$0.exists("SELECT 1 FROM outgoing") }
            }
        }

        /// Whether the item exists after `seconds`.
        func isThere(after seconds: Int64) async throws -> Bool {
            world.clock.advance(by: .seconds(seconds))
            await core.disappearing.look()
            return try await core.items(of: chat, before: nil, count: 9).count == 1
        }

        var deleted: Int { world.relay.state.withLock { $0.deleted.count } }
    }

    @Test("expiry starts when the announcement is sent")
    func whenItIsAnnounced() async throws {
        let stage = try await Stage()
        try await stage.send(handing: 2)
        #expect(try await stage.isThere(after: 61))
        // The server has the file's message, but not the announcement.
        try await stage.tell(.sent(message: 1))
        #expect(try await stage.isThere(after: 61) && stage.deleted == 0)
        try await stage.tell(.sent(message: 2))
        #expect(try await stage.isThere(after: 59))
        #expect(try await !stage.isThere(after: 2))
        await stage.core.shutDown()
    }

    @Test("announcement is awaited beyond normal retention")
    func afterMonths() async throws {
        let stage = try await Stage()
        try await stage.send(handing: 2)
        #expect(try await stage.isThere(after: 32 * 86_400))
        // Old rows are removed when a new one is added.
        try await stage.core.send(ComposedText(id: "1", text: "hello"), to: stage.chat)
        try await wait(until: "the agent has it") { stage.agent.sent == 3 }
        try await wait(until: "it is noted") {
            try stage.world.database().read { try !$0.exists("SELECT 1 FROM outgoing") }
        }
        #expect(try await stage.isThere(after: 61))
        try await stage.tell(.sent(message: 2))
        #expect(try await stage.isThere(after: 59))
        #expect(try await !stage.isThere(after: 2))
        await stage.core.shutDown()
    }

    @Test("announcement is awaited across restarts")
    func aProcessLater() async throws {
        let stage = try await Stage()
        try await stage.send(handing: 2)
        await stage.core.shutDown()
        let agent = ToldAgent(isEarly: false) { _ in nil }
        stage.world.clock.advance(by: .seconds(61))
        let core = try await stage.world.open("alice", over: agent.making)
        await core.disappearing.look()
        #expect(try await core.newest(in: "friends").file?.status == .sndComplete)
        agent.tell(.sent(message: 2), of: ConnectionID(1), number: 2_000_000)
        try await wait(until: "it is taken") { agent.isTaken(2_000_000) }
        stage.world.clock.advance(by: .seconds(61))
        await core.disappearing.look()
        #expect(try await core.items(of: stage.chat, before: nil, count: 9).isEmpty)
        await core.shutDown()
    }

    @Test("sent outcome may precede the message's number")
    func early() async throws {
        let stage = try await Stage(isEarly: true)
        try await stage.send(handing: 2)
        #expect(try await stage.isThere(after: 59))
        #expect(try await !stage.isThere(after: 2))
        await stage.core.shutDown()
    }

    @Test("failed announcement starts expiry", arguments: [1, 2])
    func failed(message: Int64) async throws {
        let stage = try await Stage()
        try await stage.send(handing: 2)
        #expect(try await stage.isThere(after: 61))
        try await stage.tell(.messageFailed(message: message, .expired))
        #expect(try await stage.isThere(after: 59))
        #expect(try await !stage.isThere(after: 2))
        await stage.core.shutDown()
    }

    @Test("cancellation starts expiry")
    func cancelled() async throws {
        let stage = try await Stage()
        try await stage.send(handing: 2)
        #expect(try await stage.isThere(after: 61))
        try await stage.core.cancelFile(try #require(await stage.core.newest(in: "friends").file).id)
        #expect(try await stage.isThere(after: 59))
        #expect(try await !stage.isThere(after: 2))
        await stage.core.shutDown()
    }

    @Test("first member's server starts a group file's expiry")
    func group() async throws {
        let stage = try await Stage(members: 2)
        // The file's message and its announcement, to the host and two members each.
        try await stage.send(handing: 6)
        #expect(try await stage.isThere(after: 61))
        for (connection, number) in [(2, 2), (3, 6)] as [(Int64, Int64)] {
            try await stage.tell(.messageFailed(message: number, .expired), of: connection)
        }
        #expect(try await stage.isThere(after: 61))
        try await stage.tell(.sent(message: 5), of: 2)
        #expect(try await stage.isThere(after: 59))
        #expect(try await !stage.isThere(after: 2))
        await stage.core.shutDown()
    }
}
