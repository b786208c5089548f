import Agent
import Base
import ChatCore
import ChatProtocol
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Group table")
struct GroupTableTests {
    private let stage: StoreStage
    private let chat: Int64
    private static let now = StoreStage.now

    init() throws {
        stage = try StoreStage()
        chat = try stage.group(1)
    }

    private func member(_ number: UInt8, _ status: GroupMember.Status = .joined) -> GroupMember {
        GroupMember(
            id: StoreStage.member(number), role: .moderator,
            profile: ContactProfile(displayName: "member \(number)"), status: status)
    }

    @Test("group round-trips by chat and connection")
    func group() throws {
        for membership in [GroupConversation.Membership.waiting, .joined, .ended] {
            let group = GroupConversation(
                own: MemberReference(id: StoreStage.member(1), role: .admin), host: StoreStage.member(2),
                profile: GroupProfile(displayName: "ü\u{1F600} \"club\""), versions: 3...14,
                membership: membership)
            try stage.change { try $0.groups.keep(group, of: chat) }
            #expect(try stage.change { try $0.groups.group(ofChat: chat) } == group)
            let found = try stage.change { try $0.groups.group(over: ConnectionID(1)) }
            #expect(found?.chat == chat && found?.conversation == group)
        }
        #expect(try stage.change(of: stage.bob) { try $0.groups.group(over: ConnectionID(1)) } == nil)
        #expect(try stage.change { try $0.groups.group(ofChat: chat + 1) } == nil)
        #expect(try stage.change { try $0.groups.contains(chat) && !$0.groups.contains(chat + 1) })
        #expect(try stage.change { try $0.people.connection(ofChat: chat) } == ConnectionID(1))
    }

    @Test("member round-trips without its image")
    func members() throws {
        for (number, status) in [GroupMember.Status.heardOf, .joined, .left, .removed].enumerated() {
            var kept = member(UInt8(number + 10), status)
            kept.isBlocked = number % 2 == 0
            kept.announcer = number % 2 == 0 ? nil : StoreStage.member(2)
            kept.profile.image = "data:image/jpg;base64,AA=="
            try stage.change { try $0.groups.keep(kept, of: chat) }
            kept.profile.image = nil
            #expect(try stage.change { try $0.groups.member(kept.id, of: chat) } == kept)
            #expect(try stage.change { try $0.groups.member(kept.id, of: chat + 1) } == nil)
        }
        for role in MemberRole.allCases {
            var kept = member(10)
            kept.role = role
            try stage.change { try $0.groups.keep(kept, of: chat) }
            #expect(try stage.change { try $0.groups.member(kept.id, of: chat) }?.role == role)
        }
        // This profile and the two joined members.
        #expect(try stage.change { try $0.groups.size(of: chat) } == 3)
    }

    @Test("size counts members behind those who left")
    func sizeBehindDeparted() throws {
        try stage.execute(
            """
            WITH RECURSIVE number (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM number WHERE n < 439)
            INSERT INTO network_member (chat, member, role, introduction, status, is_blocked)
            SELECT \(chat), CAST('member ' || n AS BLOB), 'member', x'00', iif(n < 400, 'left', 'joined'), 0
            FROM number
            """)
        #expect(try stage.change { try $0.groups.size(of: chat) } == 41)
    }

    @Test("long member profile keeps other columns")
    func longProfile() throws {
        var kept = member(10)
        (kept.role, kept.isBlocked) = (.observer, true)
        kept.profile.shortDescription = String(repeating: "\u{7F}", count: 11_000)
        try stage.change { try $0.groups.keep(kept, of: chat) }
        let found = try #require(try stage.change { try $0.groups.member(kept.id, of: chat) })
        #expect(found.role == .observer && found.isBlocked && found.profile.displayName == "member 10")
        // Nor does damage.
        try stage.execute("UPDATE network_member SET introduction = x'7b'")
        let damaged = try #require(try stage.change { try $0.groups.member(kept.id, of: chat) })
        #expect(damaged.role == .observer && damaged.isBlocked && damaged.status == .joined)
    }

    @Test("members are limited to ten thousand")
    func manyMembers() throws {
        try stage.execute(
            """
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 9999)
            INSERT INTO network_member (chat, member, role, introduction, status, is_blocked)
            SELECT \(chat), CAST('member ' || n AS BLOB), 'member', x'00', 'joined', 0 FROM number
            """)
        try stage.change { try $0.groups.keep(member(1), of: chat) }
        try stage.change { try $0.groups.keep(member(2), of: chat) }
        #expect(try stage.count("network_member") == 10_000)
        #expect(try stage.change { try $0.groups.member(StoreStage.member(2), of: chat) } == nil)
        try stage.change { try $0.groups.keep(member(1, .left), of: chat) }
        #expect(try stage.change { try $0.groups.member(StoreStage.member(1), of: chat) }?.status == .left)
    }

    // MARK: - Early messages

    private func hold(_ body: UInt8, over number: Int64) throws {
        try stage.change { try $0.groups.hold([body], at: Self.now, over: ConnectionID(number)) }
    }

    private func joining() throws {
        try stage.change {
            try $0.requests.insert(
                ContactRequestID(1), sameAs: nil, message: [], at: Self.now, .accepted, chat: 7)
        }
    }

    @Test("early messages are kept while joining, 64 each")
    func early() throws {
        try hold(1, over: 40)
        #expect(try stage.count("early_message") == 0)
        try joining()
        for number in 0..<65 { try hold(UInt8(number), over: 40) }
        try hold(99, over: 41)
        #expect(try stage.count("early_message", "connection = 40") == 64)
        #expect(try stage.change { try $0.groups.takeHeld() }.isEmpty, "nobody knows yet whose it is")
        #expect(try stage.count("early_message") == 65)

        let joined = try stage.group(40)
        let held = try stage.change { try $0.groups.takeHeld() }
        #expect(held.map(\.body) == (0..<64).map { [UInt8($0)] })
        #expect(held.allSatisfy { $0.connection == ConnectionID(40) && $0.time == Self.now })
        #expect(try stage.count("early_message") == 1 && joined != chat)
        #expect(try stage.change(of: stage.bob) { try $0.groups.takeHeld() }.isEmpty)
    }

    @Test("failed joining drops early messages")
    func inVain() throws {
        try joining()
        try hold(1, over: 40)
        try stage.execute("UPDATE contact_request SET state = 'joined'")
        #expect(try stage.change { try $0.groups.takeHeld() }.isEmpty)
        #expect(try stage.count("early_message") == 0)
        // A request at an address joins no group.
        try stage.execute("UPDATE contact_request SET state = 'accepted', chat = NULL")
        try hold(1, over: 40)
        #expect(try stage.count("early_message") == 0)
    }

    @Test("damaged rows throw or are skipped")
    func damage() throws {
        try stage.change { try $0.groups.keep(member(1), of: chat) }
        struct Undone: Error {}
        let absent = [
            "UPDATE network_group SET own_id = x''", "UPDATE network_group SET host_id = x''",
            "UPDATE network_group SET introduction = x'7b'",
        ]
        let refused = [
            "UPDATE network_group SET own_role = 'king'", "UPDATE network_member SET role = 'king'",
            "UPDATE network_member SET status = 'asleep'",
        ]
        for damage in absent + refused {
            do {
                try stage.database.transaction { connection in
                    try connection.execute(damage)
                    let groups = DirectoryTables(connection, elapsed: StoreStage.elapsed).network(
                        of: stage.alice
                    ).groups
                    func read() throws -> Bool {
                        _ = try groups.member(StoreStage.member(1), of: chat)
                        return try groups.group(ofChat: chat) != nil
                    }
                    if absent.contains(damage) {
                        #expect(try !read(), "\(damage)")
                    } else {
                        #expect(throws: StoreError.self, "\(damage)") { try read() }
                    }
                    throw Undone()
                }
            } catch is Undone {}
        }
    }
}
