import Agent
import Base
import ChatProtocol
import Store

/// Connections of a profile with members of its groups, beside those with the hosts.
struct MemberConnectionTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    /// So many of one group at a time; the host passes on what the others write and are to read.
    static let maxConnections: Int64 = 250
    /// So many are begun for one group within a day, however many of them end.
    static let maxBegun: Int64 = 500
    /// By the clock of the database: so long what is said in a group is kept for a member that does not answer.
    private static let silenceTimeout = Duration.seconds(3 * 86_400)

    /// One as it is stored.
    struct Stored: Sendable {
        var chat: Int64
        var state: MemberConnection
        /// nil before the agent has made it.
        var number: ConnectionID?
    }

    // MARK: - Reading

    private static let columns = "chat, member, introducer, phase, connection, link"

    private func read(_ row: borrowing Row) throws -> Stored? {
        guard let member = MemberID(bytes: row.bytes("member")),
            let introducer = MemberID(bytes: row.bytes("introducer"))
        else { return nil }
        return Stored(
            chat: row.integer("chat"),
            state: MemberConnection(
                to: member, introducer: introducer,
                phase: try row.value("phase", as: MemberConnection.Phase.self), link: row.textOrNil("link")),
            number: row.integerOrNil("connection").map { ConnectionID($0) })
    }

    func row(over id: ConnectionID) throws -> Stored? {
        try connection.first(
            "SELECT \(Self.columns) FROM member_connection WHERE profile = ? AND connection = ?", profile,
            id.number, row: read) ?? nil
    }

    func row(with member: MemberID, in chat: Int64) throws -> Stored? {
        try connection.first(
            "SELECT \(Self.columns) FROM member_connection WHERE chat = ? AND member = ?", chat, member.bytes,
            row: read) ?? nil
    }

    /// Those that the agent has to make, join or delete.
    func unfinished() throws -> [Stored] {
        try connection.query(
            """
            SELECT \(Self.columns) FROM member_connection WHERE profile = ?
            AND phase IN ('toInvite', 'toJoin', 'toEnd') ORDER BY since, member
            """, profile, row: read
        ).compactMap { $0 }
    }

    /// Over which what is said in a group goes.
    func carrying(in chat: Int64, at time: ElapsedTime) throws -> [(id: ConnectionID, stands: Bool)] {
        try connection.query(
            """
            SELECT connection, phase = 'connected' AS stands FROM member_connection
            WHERE chat = ? AND connection IS NOT NULL
            AND (phase = 'connected' OR phase IN ('invited', 'connecting') AND since >= ?) ORDER BY since, member
            """, chat, time.advanced(by: .zero - Self.silenceTimeout)
        ) { (ConnectionID($0.integer("connection")), $0.bool("stands")) }
    }

    // MARK: - What is said before the agent's number is stored

    /// Keeps something that is said in a group for those members whose links the agent may have joined already.
    func hold(_ message: OutgoingMessage, in chat: Int64, at time: ElapsedTime) throws {
        try connection.execute(
            """
            INSERT INTO held_outgoing (chat, member, body, notifies)
            SELECT chat, member, ?, ? FROM member_connection WHERE chat = ? AND phase = 'toJoin' AND since >= ?
            """, message.body, message.notifies, chat, time.advanced(by: .zero - Self.silenceTimeout))
    }

    /// Hands it to the agent.
    func release(_ member: MemberID, in chat: Int64, over id: ConnectionID) throws {
        try connection.execute(
            """
            INSERT INTO outgoing (profile, connection, body, notifies, ends)
            SELECT ?, ?, body, notifies, 0 FROM held_outgoing WHERE chat = ? AND member = ? ORDER BY id
            """, profile, id.number, chat, member.bytes)
        try drop(member, in: chat)
    }

    private func drop(_ member: MemberID, in chat: Int64) throws {
        try connection.execute(
            "DELETE FROM held_outgoing WHERE chat = ? AND member = ?", chat, member.bytes)
    }

    // MARK: - Changing

    /// Begins one that is not there yet; nothing where there are enough.
    func begin(_ state: MemberConnection, in chat: Int64, at time: ElapsedTime) throws {
        try connection.execute(
            "UPDATE network_group SET begun = 0, begun_since = ? WHERE chat = ? AND begun_since <= ?", time,
            chat, time.advanced(by: .seconds(-86_400)))
        let isFull =
            try connection.first(
                """
                SELECT g.begun >= ? OR (SELECT count(*) FROM member_connection m WHERE m.chat = g.chat) >= ? AS is_full
                FROM network_group g WHERE g.chat = ?
                """, Self.maxBegun, Self.maxConnections, chat
            ) { $0.bool("is_full") } ?? true
        guard !isFull else { return }
        try connection.execute("UPDATE network_group SET begun = begun + 1 WHERE chat = ?", chat)
        try connection.execute(
            """
            INSERT OR IGNORE INTO member_connection (profile, chat, member, introducer, phase, link, since)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """, profile, chat, state.member.bytes, state.introducer.bytes, state.phase.rawValue, state.link,
            time)
    }

    func keep(_ row: Stored) throws {
        try connection.execute(
            "UPDATE member_connection SET phase = ?, link = ?, connection = ? WHERE chat = ? AND member = ?",
            row.state.phase.rawValue, row.state.link, row.number?.number, row.chat, row.state.member.bytes)
    }

    /// How long nobody is told once more that a member's messages come directly.
    private static let toldInterval = Duration.seconds(3600)

    /// Notes that somebody is told now that a member's messages come directly. False if somebody was within the hour:
    /// any number of messages may have been passed on needlessly.
    func noteTold(of member: MemberID, in chat: Int64, at time: ElapsedTime) throws -> Bool {
        try connection.execute(
            """
            UPDATE member_connection SET told = ? WHERE chat = ? AND member = ?
            AND (told IS NULL OR told <= ?)
            """, time, chat, member.bytes, time.advanced(by: .zero - Self.toldInterval)) > 0
    }

    func remove(_ member: MemberID, in chat: Int64) throws {
        try connection.execute(
            "DELETE FROM member_connection WHERE chat = ? AND member = ?", chat, member.bytes)
        try drop(member, in: chat)
    }

    /// Has the agent delete a connection; nothing stays of one that it does not have.
    func end(_ row: Stored) throws {
        guard row.number != nil else { return try remove(row.state.member, in: row.chat) }
        var row = row
        row.state.end()
        try keep(row)
        try closeEnding()
    }

    /// The same with all of a group.
    func endAll(in chat: Int64) throws {
        try connection.execute("DELETE FROM member_connection WHERE chat = ? AND connection IS NULL", chat)
        try connection.execute("DELETE FROM held_outgoing WHERE chat = ?", chat)
        try connection.execute(
            "UPDATE member_connection SET phase = 'toEnd', link = NULL WHERE chat = ?", chat)
        try closeEnding()
    }

    /// Nothing is taken in any more that comes over them.
    private func closeEnding() throws {
        try connection.execute(
            """
            UPDATE connection SET is_ended = 1 WHERE profile = ? AND number IN
            (SELECT connection FROM member_connection WHERE profile = ? AND phase = 'toEnd')
            """, profile, profile)
    }

    /// A farewell goes over it, with which it is deleted.
    func forget(_ id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM member_connection WHERE profile = ? AND connection = ?", profile, id.number)
    }

    /// The same with a connection that is none of these: that with the host.
    func end(_ id: ConnectionID, with host: MemberID, in chat: Int64, at time: ElapsedTime) throws {
        try connection.execute(
            """
            INSERT OR IGNORE INTO member_connection
            (profile, chat, member, introducer, phase, connection, since) VALUES (?, ?, ?, ?, 'toEnd', ?, ?)
            """, profile, chat, host.bytes, host.bytes, id.number, time)
        try closeEnding()
    }
}
