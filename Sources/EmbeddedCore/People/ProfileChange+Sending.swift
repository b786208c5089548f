import Agent
import Base
import ChatCore
import ChatProtocol

/// What this profile says in chats on the network.
extension ProfileChange {
    /// Has the agent send a message to the contact of a chat, or to each member of a group with which there is a
    /// connection; the host passes it on to the others.
    /// - Parameters:
    ///   - item: suffers when it cannot be sent.
    ///   - announces: the file of the item can be found with it.
    /// - Returns: false where nobody can be reached.
    func say(
        _ message: ChatMessage, in chat: Int64, of item: ItemID? = nil, announces: Bool = false
    ) throws -> Bool {
        guard try tables.groups.contains(chat) else {
            guard let contact = try tables.people.connection(ofChat: chat) else { return false }
            var outgoing = try OutgoingMessage(message, to: contact, of: item)
            outgoing.announces = announces
            try send(outgoing)
            if announces, let item { try tables.uploads.awaitAnnouncement(of: item) }
            return true
        }
        return try sayInGroup(message, in: chat, of: item, announces: announces)
    }

    private func sayInGroup(
        _ message: ChatMessage, in chat: Int64, of item: ItemID?, announces: Bool
    ) throws -> Bool {
        let host = try tables.people.connection(ofChat: chat)
        let members = try tables.memberConnections.carrying(in: chat, at: elapsed)
        let standing = (host.map { [$0] } ?? []) + members.filter(\.stands).map(\.id)
        guard let first = standing.first ?? members.first?.id else { return false }
        var outgoing = try OutgoingMessage(message, to: first, of: item)
        try tables.memberConnections.hold(outgoing, in: chat, at: elapsed)
        // Nobody waits for those who may never connect.
        let whole = HandedMessageTable.Message(id: outgoing.id, item: item)
        (outgoing.id, outgoing.item) = (nil, nil)
        for member in members where !member.stands {
            outgoing.connection = member.id
            try send(outgoing)
        }
        if whole.id != nil || item != nil, !standing.isEmpty {
            outgoing.delivery = try tables.groupDeliveries.begin(
                whole, in: chat, to: standing.count, at: elapsed)
        }
        // Who may never connect is waited for as little by the time of a file.
        if announces, let item, !standing.isEmpty {
            outgoing.announces = true
            try tables.uploads.awaitAnnouncement(of: item)
        }
        for connection in standing {
            outgoing.connection = connection
            try send(outgoing)
        }
        return true
    }

    /// Says something to one member of a group; nothing where there is no connection with it.
    func tell(_ event: GroupEvent, to member: MemberID, in chat: Int64) throws {
        guard let id = try connection(with: member, in: chat) else { return }
        let message = ChatMessage(.group(event), id: SharedMessageID(from: SystemRandomSource()))
        try send(OutgoingMessage(message, to: id))
    }

    /// Over which something can be said to a member of a group.
    func connection(with member: MemberID, in chat: Int64) throws -> ConnectionID? {
        if try tables.groups.group(ofChat: chat)?.host == member {
            return try tables.people.connection(ofChat: chat)
        }
        let row = try tables.memberConnections.row(with: member, in: chat)
        return row?.state.phase.carriesMessages == true ? row?.number : nil
    }

    // MARK: - What became of it

    /// What became of a message that the agent was given: the file of it says so, and its line in the log of the chat.
    func settle(
        _ message: HandedMessageTable.Message, of connection: ConnectionID,
        _ outcome: HandedMessageTable.Outcome
    ) throws {
        if message.announces { try noteAnnouncement(message, outcome) }
        if case .sent = outcome { return }
        if let delivery = message.delivery {
            guard let whole = try tables.groupDeliveries.note(outcome, of: delivery) else { return }
            try settle(whole.message, in: whole.chat, whole.outcome)
        } else {
            try settle(message, in: tables.people.person(connection)?.chat, outcome)
        }
    }

    /// The first of several members counts.
    private func noteAnnouncement(
        _ message: HandedMessageTable.Message, _ outcome: HandedMessageTable.Outcome
    ) throws {
        switch outcome {
        // Where all fail, the file does.
        case .failed: break
        case .sent, .delivered:
            let item =
                try message.item ?? message.delivery.flatMap { try tables.groupDeliveries.item(of: $0) }
            guard let item, let file = try tables.items.item(item)?.file else { return }
            try noteAnnounced(file.id)
        }
    }

    private func settle(
        _ message: HandedMessageTable.Message, in chat: Int64?, _ outcome: HandedMessageTable.Outcome
    ) throws {
        if let item = message.item { try settle(item, outcome) }
        guard let id = message.id, let chat, try tables.messageLog.holds(id, in: chat) else { return }
        var line = MessageLine(.state, of: id, at: time, .sent, by: try ownName)
        switch outcome {
        case .sent: return
        case .delivered: line.state = "delivered"
        case .failed(let sentence): (line.state, line.error) = ("failed", sentence)
        }
        try write(line, to: ChatSide(profile: profile, chat: chat))
    }

    private func settle(_ id: ItemID, _ outcome: HandedMessageTable.Outcome) throws {
        guard let item = try tables.items.item(id), let file = item.file else { return }
        switch outcome {
        case .sent: break
        // What goes to the sender of a file only asks for it.
        case .delivered where item.direction == .received: break
        case .failed(let sentence) where item.direction == .received:
            try askedInVain(for: file.id, sentence)
        case .delivered:
            if try tables.items.setDelivered(id) { try tell({ .chatItemUpdated($0) }, of: file.id) }
        case .failed(let sentence):
            let problem = FileProblem(.other, sentence)
            if try setStatus(.sndError, of: file.id, from: StoredFileStatus.uploading, problem: problem) {
                try endUpload(of: file.id, item)
            } else {
                guard try setStatus(.sndError, of: file.id, from: [.sndComplete], problem: problem) else {
                    return
                }
                try noteAnnounced(file.id)
            }
            try tell({ .sndFileError($0, problem) }, of: file.id)
        }
    }
    /// Nobody hears of a file that is on its way to a relay: the rest of it does not go, and what is there is deleted.
    private func endUpload(of file: FileID, _ item: ChatItem) throws {
        try addRemains(ofUpload: file)
        try beginTime(of: file)
        try post(
            .unsent(item.id),
            to: ChatSide(profile: profile, chat: tables.chats.id(of: item.chat, of: profile)))
    }
}
