import Agent
import Base
import ChatProtocol
import Store

/// A profile's connections with group members other than hosts.
struct MemberConnectionTable {
    let connection: Connection
    let profile: Int64

    /// Maximum number of connections per group. The host forwards messages of and to other members.
    static let maxConnections: Int64 = 250
    /// Maximum number of connections started per group and day.
    static let maxBegun: Int64 = 500
    /// Time for which messages are kept for a silent member, by the database's clock.
    private static let silenceTimeout = Duration.seconds(3 * 86_400)

    /// A stored connection.
    struct Stored: Sendable {
        var chat: Int64
        var state: MemberConnection
        /// nil until the agent has created it.
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

    /// Connections that the agent must create, join or delete.
    func unfinished() throws -> [Stored] {
        try connection.query(
            """
            SELECT \(Self.columns) FROM member_connection WHERE profile = ?
            AND phase IN ('toInvite', 'toJoin', 'toEnd') ORDER BY since, member
            """, profile, row: read
        ).compactMap { $0 }
    }

    /// Connections that carry a group's messages.
    func carrying(in chat: Int64, at time: ElapsedTime) throws -> [(id: ConnectionID, stands: Bool)] {
        try connection.query(
            """
            SELECT connection, phase = 'connected' AS stands FROM member_connection
            WHERE chat = ? AND connection IS NOT NULL
            AND (phase = 'connected' OR phase IN ('invited', 'connecting') AND since >= ?) ORDER BY since, member
            """, chat, time.advanced(by: .zero - Self.silenceTimeout)
        ) { (ConnectionID($0.integer("connection")), $0.bool("stands")) }
    }

    // MARK: - Messages before the agent's number is stored

    /// Keeps a group message for members whose links the agent may already have joined.
    func hold(_ message: OutgoingMessage, in chat: Int64, at time: ElapsedTime) throws {
        try connection.execute(
            """
            INSERT INTO held_outgoing (chat, member, body, notifies)
            SELECT chat, member, ?, ? FROM member_connection WHERE chat = ? AND phase = 'toJoin' AND since >= ?
            """, message.body, message.notifies, chat, time.advanced(by: .zero - Self.silenceTimeout))
    }

    /// Passes the kept messages to the agent.
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

    // MARK: - Changes

    /// Starts a connection unless it exists or a limit is reached.
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

    /// Minimum interval between reports that a member's messages arrive directly.
    private static let toldInterval = Duration.seconds(3600)

    /// Records a report that a member's messages arrive directly. Returns false within the interval, because
    /// any number of messages may have been forwarded needlessly.
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

    /// Schedules a connection's deletion. Deletes the row if the agent does not have it.
    func end(_ row: Stored) throws {
        guard row.number != nil else { return try remove(row.state.member, in: row.chat) }
        var row = row
        row.state.end()
        try keep(row)
        try closeEnding()
    }

    /// Ends all connections of a group.
    func endAll(in chat: Int64) throws {
        try connection.execute("DELETE FROM member_connection WHERE chat = ? AND connection IS NULL", chat)
        try connection.execute("DELETE FROM held_outgoing WHERE chat = ?", chat)
        try connection.execute(
            "UPDATE member_connection SET phase = 'toEnd', link = NULL WHERE chat = ?", chat)
        try closeEnding()
    }

    /// Ignores further messages of ending connections.
    private func closeEnding() throws {
        try connection.execute(
            """
            UPDATE connection SET is_ended = 1 WHERE profile = ? AND number IN
            (SELECT connection FROM member_connection WHERE profile = ? AND phase = 'toEnd')
            """, profile, profile)
    }

    /// Deletes the row of a connection that ends with a farewell.
    func forget(_ id: ConnectionID) throws {
        try connection.execute(
            "DELETE FROM member_connection WHERE profile = ? AND connection = ?", profile, id.number)
    }

    /// Ends the connection with a host, which has no row.
    func end(_ id: ConnectionID, with host: MemberID, in chat: Int64, at time: ElapsedTime) throws {
        try connection.execute(
            """
            INSERT OR IGNORE INTO member_connection
            (profile, chat, member, introducer, phase, connection, since) VALUES (?, ?, ?, ?, 'toEnd', ?, ?)
            """, profile, chat, host.bytes, host.bytes, id.number, time)
        try closeEnding()
    }
}
