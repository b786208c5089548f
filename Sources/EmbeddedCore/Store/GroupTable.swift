import Agent
import Base
import ChatProtocol
import Store

/// A profile's groups on the network and their members. Profiles are stored as the messages that carried
/// them.
struct GroupTable {
    let connection: Connection
    let profile: Int64
    private let counts = Counts()

    /// Number of stored members by chat, counted once per transaction.
    private final class Counts { var members: [Int64: Int64] = [:] }

    /// Maximum number of stored members per group, except those with an own connection. Messages of others
    /// still show their names.
    static let maxMembers: Int64 = 10_000

    // MARK: - Groups

    /// Returns the group whose host this connection leads to.
    func group(over id: ConnectionID) throws -> (chat: Int64, conversation: GroupConversation)? {
        try group("connection = ?", id.number)
    }

    func group(ofChat chat: Int64) throws -> GroupConversation? {
        try group("chat = ?", chat)?.conversation
    }

    private func group(
        _ condition: String, _ value: Int64
    ) throws -> (chat: Int64, conversation: GroupConversation)? {
        let found = try connection.first(
            """
            SELECT chat, own_id, own_role, host_id, introduction, state FROM network_group
            WHERE profile = ? AND \(condition)
            """, profile, value
        ) { row -> (Int64, GroupConversation)? in
            guard let own = MemberID(bytes: row.bytes("own_id")),
                let host = MemberID(bytes: row.bytes("host_id")),
                let message = ChatMessage(stored: row.bytes("introduction")),
                case .group(.profile(let profile)) = message.event
            else { return nil }
            let role = try row.value("own_role", as: MemberRole.self)
            return (
                row.integer("chat"),
                GroupConversation(
                    own: MemberReference(id: own, role: role), host: host, profile: profile,
                    versions: message.versions,
                    membership: try row.value("state"))
            )
        }
        return found ?? nil
    }

    func insert(_ group: GroupConversation, chat: Int64, over id: ConnectionID) throws {
        try connection.execute(
            """
            INSERT INTO network_group (chat, profile, connection, own_id, own_role, host_id, introduction, state)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, chat, profile, id.number, group.own.id.bytes, group.own.role.rawValue, group.host.bytes,
            introduction(of: group), group.membership)
        try connection.execute(
            "UPDATE connection SET chat = ? WHERE profile = ? AND number = ?", chat, profile, id.number)
    }

    func keep(_ group: GroupConversation, of chat: Int64) throws {
        try connection.execute(
            "UPDATE network_group SET own_role = ?, introduction = ?, state = ? WHERE chat = ?",
            group.own.role.rawValue, introduction(of: group), group.membership, chat)
    }

    private func introduction(of group: GroupConversation) -> [UInt8] {
        Array(ChatMessage(.group(.profile(group.profile)), id: nil, versions: group.versions).json.utf8)
    }

    /// Whether a chat is a group on the network.
    func contains(_ chat: Int64) throws -> Bool {
        try connection.exists("SELECT 1 FROM network_group WHERE chat = ?", chat)
    }

    // MARK: - Early messages

    /// Maximum number of kept messages per connection that is not yet known as a group's.
    private static let maxEarly: Int64 = 64

    /// Keeps a message of a host or newcomer that arrived before joining was stored. Only while something is
    /// being joined.
    func hold(_ body: [UInt8], at time: Timestamp, over id: ConnectionID) throws {
        guard try isJoining else { return }
        let count = try connection.first(
            "SELECT count(*) AS count FROM early_message WHERE profile = ? AND connection = ?", profile,
            id.number
        ) { $0.integer("count") }
        guard count ?? 0 < Self.maxEarly else { return }
        try connection.execute(
            "INSERT INTO early_message (profile, connection, body, time) VALUES (?, ?, ?, ?)", profile,
            id.number,
            body, time)
    }

    struct Early {
        var connection: ConnectionID
        var body: [UInt8]
        var time: Timestamp
    }

    /// Takes the kept messages of connections now known as groups'.
    func takeHeld() throws -> [Early] {
        let found = try connection.query(
            """
            SELECT connection, body, time FROM early_message WHERE profile = ? AND \(Self.isKnown) ORDER BY id
            """, profile, profile, profile
        ) { row in
            Early(
                connection: ConnectionID(row.integer("connection")), body: row.bytes("body"),
                time: row.timestamp("time"))
        }
        if !found.isEmpty {
            try connection.execute(
                "DELETE FROM early_message WHERE profile = ? AND \(Self.isKnown)", profile, profile, profile)
        }
        // Drop messages of failed attempts.
        if try !isJoining {
            try connection.execute("DELETE FROM early_message WHERE profile = ?", profile)
        }
        return found
    }

    /// Whether the agent may have a connection whose purpose is not stored yet.
    private var isJoining: Bool {
        get throws {
            try connection.exists(
                "SELECT 1 FROM contact_request WHERE profile = ? AND state = 'accepted' AND chat IS NOT NULL",
                profile)
                || connection.exists(
                    "SELECT 1 FROM member_connection WHERE profile = ? AND phase = 'toJoin'", profile)
        }
    }

    private static let isKnown = """
        connection IN (SELECT connection FROM network_group WHERE profile = ?
            UNION SELECT connection FROM member_connection WHERE profile = ? AND connection IS NOT NULL)
        """

    /// Maximum number of members that `size` counts.
    private static let maxCounted: Int64 = 256

    /// Number of known members who have not left, including this profile. Exact for small groups only.
    func size(of chat: Int64) throws -> Int64 {
        try connection.first(
            """
            SELECT count(*) + 1 AS count
            FROM (SELECT 1 FROM network_member WHERE chat = ? AND status = ? LIMIT ?)
            """, chat, GroupMember.Status.joined, Self.maxCounted
        ) { $0.integer("count") } ?? 1
    }

    // MARK: - Members

    func member(_ id: MemberID, of chat: Int64) throws -> GroupMember? {
        try connection.first(
            """
            SELECT role, introduction, status, is_blocked, announcer FROM network_member
            WHERE chat = ? AND member = ?
            """, chat, id.bytes
        ) { row in
            // A damaged introduction must not give more rights.
            var profile = ContactProfile(displayName: "unknown member")
            if case .information(let known) = ChatMessage(stored: row.bytes("introduction"))?.event {
                profile = known
            }
            return GroupMember(
                id: id, role: try row.value("role", as: MemberRole.self), profile: profile,
                status: try row.value("status"),
                isBlocked: row.bool("is_blocked"),
                announcer: row.bytesOrNil("announcer").flatMap { MemberID(bytes: $0) })
        }
    }

    /// Stores a member without its image. Ignores an unknown member beyond the limit, unless it has an own
    /// connection, over which only its stored status stops it.
    func keep(_ member: GroupMember, of chat: Int64) throws {
        let isKnown = try connection.exists(
            "SELECT 1 FROM network_member WHERE chat = ? AND member = ?", chat, member.id.bytes)
        if !isKnown, try !countOneMore(in: chat), try !isConnected(member.id, in: chat) { return }
        var profile = member.profile
        profile.image = nil
        try connection.execute(
            """
            INSERT OR REPLACE INTO network_member
            (chat, member, role, introduction, status, is_blocked, announcer) VALUES (?, ?, ?, ?, ?, ?, ?)
            """, chat, member.id.bytes, member.role.rawValue,
            Array(ChatMessage(.information(profile), id: nil).json.utf8), member.status,
            member.isBlocked, member.announcer?.bytes)
    }

    private func isConnected(_ id: MemberID, in chat: Int64) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM member_connection WHERE chat = ? AND member = ?", chat, id.bytes)
    }

    /// Counts a new member. Returns false at the limit, which is stored: members are never removed.
    private func countOneMore(in chat: Int64) throws -> Bool {
        let isFull = try connection.exists("SELECT 1 FROM network_group WHERE chat = ? AND is_full", chat)
        guard !isFull else { return false }
        let count =
            try counts.members[chat] ?? connection.first(
                "SELECT count(*) AS count FROM network_member WHERE chat = ?", chat
            ) { $0.integer("count") } ?? 0
        guard count < Self.maxMembers else {
            try connection.execute("UPDATE network_group SET is_full = 1 WHERE chat = ?", chat)
            return false
        }
        counts.members[chat] = count + 1
        return true
    }
}
