import Agent
import Base
import ChatCore
import ChatProtocol

/// Processes messages and events of a group's connections, with the host and with members, in the transaction
/// of the agent's event.
struct GroupEvents {
    let change: ProfileChange
    let profile: Int64

    /// Larger groups get no receipts, as in official apps: each member would send one to each author.
    static let maxForReceipts: Int64 = 20

    private var tables: ProfileTables { change.tables }

    /// Processes messages. Returns whether to send a receipt; nil if the connection is not of a group.
    func take(_ elements: [ChatBody.Element], at time: Timestamp, over id: ConnectionID) throws -> Bool? {
        guard let place = try place(of: id) else { return nil }
        let isReceiptDue = try take(elements, at: time, in: place)
        return try isReceiptDue && tables.groups.size(of: place.chat) <= Self.maxForReceipts
    }

    /// The group and member of a connection.
    private struct Place {
        var chat: Int64
        var group: GroupConversation
        /// nil for the host.
        var member: MemberID?
    }

    private func place(of id: ConnectionID) throws -> Place? {
        if let row = try tables.memberConnections.row(over: id) {
            guard let group = try tables.groups.group(ofChat: row.chat) else { return nil }
            return Place(chat: row.chat, group: group, member: row.state.member)
        }
        return try tables.groups.group(over: id).map { Place(chat: $0.chat, group: $0.conversation) }
    }

    private func take(_ elements: [ChatBody.Element], at time: Timestamp, in place: Place) throws -> Bool {
        let side = ChatSide(profile: profile, chat: place.chat)
        var group = place.group
        let arrived = ArrivedMessages(change: change, side: side, sender: group.profile.displayName)
        let stored = StoredConversation(place.chat, tables)
        var isReceiptDue = false
        for element in elements {
            let effects = try group.receive(element, at: time, over: place.member, from: stored)
            if try arrived.perform(effects) { isReceiptDue = true }
        }
        if group != place.group { try change.keep(group, of: side) }
        return isReceiptDue
    }

    // MARK: - Connections with members

    /// Handles a member's introduction or established connection. Returns false for other connections.
    func connect(_ id: ConnectionID, _ information: [UInt8], isConnected: Bool, at time: Timestamp) throws
        -> Bool
    {
        guard let row = try tables.memberConnections.row(over: id) else { return false }
        if !information.isEmpty, try !introduce(information, row, at: time) { return true }
        if isConnected { try change.memberConnected(row) } else { try change.memberAnswered(row) }
        return true
    }

    /// Checks a member's introduction. If it names someone else, ends the connection and returns false.
    private func introduce(
        _ information: [UInt8], _ row: MemberConnectionTable.Stored, at time: Timestamp
    ) throws -> Bool {
        let message = try? ChatBody.readInformation(information, compression: Zstandard.installed)
        guard let message, case .group(.memberInformation(let id, _)) = message.event,
            id == row.state.member, let group = try tables.groups.group(ofChat: row.chat)
        else {
            log.notice("member connection ended, wrong member joined: chat=\(row.chat)")
            try change.endConnection(with: row.state.member, in: side(row))
            return false
        }
        _ = try take([.message(message)], at: time, in: Place(chat: row.chat, group: group, member: id))
        return true
    }

    /// Ends a failed or dead connection, so that messages go through the host again. Returns false if it is
    /// not of a group.
    func lose(_ id: ConnectionID) throws -> Bool {
        if let row = try tables.memberConnections.row(over: id) {
            try change.endConnection(with: row.state.member, in: side(row))
            return true
        }
        guard let found = try tables.groups.group(over: id) else { return false }
        try change.endConnection(
            with: found.conversation.host, in: ChatSide(profile: profile, chat: found.chat))
        return true
    }

    private func side(_ row: MemberConnectionTable.Stored) -> ChatSide {
        ChatSide(profile: profile, chat: row.chat)
    }
}
