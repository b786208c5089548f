import Agent
import Base
import ChatCore
import ChatProtocol

/// Groups on the network: joining, members' connections, and reasons not to send.
extension ProfileChange {
    /// Creates the chat of a joined group, unless it exists.
    /// - Parameter host: the host, as far as known.
    func join(
        _ group: GroupConversation, over id: ConnectionID, host: GroupMember, of profile: Int64,
        at time: Timestamp
    ) throws {
        guard try tables.groups.group(over: id) == nil else { return }
        try tables.people.insert(id)
        let chat = try tables.chats.insertGroup(named: group.profile.displayName, of: profile, at: time)
        try tables.groups.insert(group, chat: chat, over: id)
        try tables.groups.keep(host, of: chat)
        try tables.chats.setRefusal(StoredChatRefusal(group), of: chat)
        try post(.chatUpdated, to: ChatSide(profile: profile, chat: chat))
    }

    /// Stores a changed group.
    func keep(_ group: GroupConversation, of side: ChatSide) throws {
        try tables.groups.keep(group, of: side.chat)
        try noteRefusal(of: group, side)
    }

    private func noteRefusal(of group: GroupConversation, _ side: ChatSide) throws {
        var refusal = StoredChatRefusal(group)
        if refusal == nil, group.membership == .joined,
            try tables.directory.network(of: side.profile).connections(ofChat: side.chat, at: elapsed).isEmpty
        {
            refusal = .nobody
        }
        try tables.chats.setRefusal(refusal, of: side.chat)
        try post(.chatUpdated, to: side)
    }

    // MARK: - Connections with members

    /// Schedules a connection with a member. The agent makes it after the commit.
    func begin(_ connection: MemberConnection, in chat: Int64) throws {
        try tables.memberConnections.begin(connection, in: chat, at: elapsed)
        scheduleAgentWork()
    }

    /// Ends a useless connection with a member or the host. Inline files came over it. No effect without one.
    func endConnection(with member: MemberID, in side: ChatSide) throws {
        guard let group = try tables.groups.group(ofChat: side.chat) else { return }
        if member == group.host, let id = try tables.people.connection(ofChat: side.chat) {
            try tables.memberConnections.end(id, with: member, in: side.chat, at: elapsed)
        } else if let row = try tables.memberConnections.row(with: member, in: side.chat),
            row.state.phase != .toEnd
        {
            try tables.memberConnections.end(row)
        } else {
            return
        }
        try failInlineTransfers(in: side, by: .member(member))
        try noteRefusal(of: group, side)
        scheduleAgentWork()
    }

    /// Ends all connections of an ended chat.
    func endConnections(of side: ChatSide) throws {
        guard let group = try tables.groups.group(ofChat: side.chat) else { return }
        try tables.memberConnections.endAll(in: side.chat)
        if let id = try tables.people.connection(ofChat: side.chat) {
            try tables.memberConnections.end(id, with: group.host, in: side.chat, at: elapsed)
        }
        scheduleAgentWork()
    }

    /// Stores a link made for a member and sends it through the member's introducer.
    /// - Returns: false if the link is no longer needed.
    func inviteMember(_ row: MemberConnectionTable.Stored, link: String, over id: ConnectionID) throws -> Bool
    {
        let known = try tables.memberConnections.row(with: row.state.member, in: row.chat)
        guard var row = known, row.number == nil, let invitation = row.state.made(link) else { return false }
        guard try connection(with: row.state.introducer, in: row.chat) != nil else {
            try tables.memberConnections.remove(row.state.member, in: row.chat)
            return false
        }
        row.number = id
        try tables.people.insert(id, row.reason)
        try tables.memberConnections.keep(row)
        try tell(invitation, to: row.state.introducer, in: row.chat)
        return true
    }

    /// Result of joining a newcomer's link.
    enum Joining: Sendable {
        case stored
        /// The connection is no longer needed.
        case unwanted
        /// Another member or a contact gave the same link. The connection stays theirs.
        case somebodyElses
    }

    /// Stores the connection that joined a newcomer's link. It may already be established.
    func joinMember(_ row: MemberConnectionTable.Stored, over id: ConnectionID) throws -> Joining {
        let known = try tables.memberConnections.row(with: row.state.member, in: row.chat)
        try tables.people.insert(id, row.reason)
        let isTaken = try isTaken(id, from: row)
        guard var row = known, row.number == nil, row.state.joined() else {
            return isTaken ? .somebodyElses : .unwanted
        }
        guard !isTaken else {
            try tables.memberConnections.remove(row.state.member, in: row.chat)
            return .somebodyElses
        }
        row.number = id
        try tables.memberConnections.keep(row)
        try tables.memberConnections.release(row.state.member, in: row.chat, over: id)
        scheduleAgentWork()
        if try tables.people.person(id)?.isConnected == true { try memberConnected(row) }
        return .stored
    }

    /// Whether the connection was made for another person.
    private func isTaken(_ id: ConnectionID, from row: MemberConnectionTable.Stored) throws -> Bool {
        if try tables.memberConnections.row(over: id) != nil { return true }
        guard let person = try tables.people.person(id) else { return false }
        return person.chat != nil || person.isEnded
            || person.reason != row.reason
    }

    /// Records that a member has joined its link.
    func memberAnswered(_ row: MemberConnectionTable.Stored) throws {
        var row = row
        row.state.answered()
        try tables.memberConnections.keep(row)
    }

    /// Records an established connection with a member.
    func memberConnected(_ row: MemberConnectionTable.Stored) throws {
        var row = row
        guard let report = row.state.stands() else { return }
        try tables.memberConnections.keep(row)
        try tell(report, to: row.state.introducer, in: row.chat)
        if let group = try tables.groups.group(ofChat: row.chat) {
            try noteRefusal(of: group, ChatSide(profile: profile, chat: row.chat))
        }
    }
}

extension StoredChatRefusal {
    /// nil if files may be sent.
    fileprivate init?(_ group: GroupConversation) {
        switch group.membership {
        case .waiting: self = .waiting
        case .joined where !group.own.role.mayWrite: self = .reader
        case .joined where !group.maySendFiles: self = .noFiles
        // An ended chat has its own state.
        case .joined, .ended: return nil
        }
    }
}

extension StoredChatEnding {
    init(_ end: ChatEnd) {
        switch end {
        case .contactDeletedIt: self = .contactLeft
        case .removedFromGroup: self = .removed
        case .groupDeleted: self = .groupDeleted
        case .refusedByGroup: self = .refused
        }
    }
}
