import Agent
import Base
import ChatCore
import ChatProtocol

/// Sending to chats on the network.
extension ProfileChange {
    /// Sends a message to a contact, or to all connected members of a group; the host forwards it to the
    /// others.
    /// - Parameters:
    ///   - item: item that fails if the message does.
    ///   - announces: whether the message announces the item's file.
    /// - Returns: false if no recipient has a connection.
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
        return try sendInGroup(message, in: chat, of: item, announces: announces)
    }

    private func sendInGroup(
        _ message: ChatMessage, in chat: Int64, of item: ItemID?, announces: Bool
    ) throws -> Bool {
        let host = try tables.people.connection(ofChat: chat)
        let members = try tables.memberConnections.carrying(in: chat, at: elapsed)
        let standing = (host.map { [$0] } ?? []) + members.filter(\.stands).map(\.id)
        guard let first = standing.first ?? members.first?.id else { return false }
        var outgoing = try OutgoingMessage(message, to: first, of: item)
        try tables.memberConnections.hold(outgoing, in: chat, at: elapsed)
        // Do not wait for members who may never connect.
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
        // Nor delay the file's announcement for them.
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

    /// Sends an event to a group member, if connected.
    func tell(_ event: GroupEvent, to member: MemberID, in chat: Int64) throws {
        guard let id = try connection(with: member, in: chat) else { return }
        let message = ChatMessage(.group(event), id: SharedMessageID(from: SystemRandomSource()))
        try send(OutgoingMessage(message, to: id))
    }

    /// Returns the connection for messages to a group member; nil without one.
    func connection(with member: MemberID, in chat: Int64) throws -> ConnectionID? {
        if try tables.groups.group(ofChat: chat)?.host == member {
            return try tables.people.connection(ofChat: chat)
        }
        let row = try tables.memberConnections.row(with: member, in: chat)
        return row?.state.phase.carriesMessages == true ? row?.number : nil
    }

    // MARK: - Results

    /// Records the result of a message in its file's state and in the chat's log.
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

    /// The first member that gets the announcement counts.
    private func noteAnnouncement(
        _ message: HandedMessageTable.Message, _ outcome: HandedMessageTable.Outcome
    ) throws {
        switch outcome {
        // If all fail, the file fails.
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
        guard let id = message.id, let chat, try tables.messageLog.holdsOwn(id, in: chat) else { return }
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
        // A message about a received file only requests it.
        case .delivered where item.direction == .received: break
        case .failed(let sentence) where item.direction == .received:
            try noteFailedRequest(for: file.id, sentence)
        case .delivered:
            if try tables.items.setDelivered(id) { try tell(.updated, of: file.id) }
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
            try tell(.failed(problem), of: file.id)
        }
    }
    /// Stops an upload that was not announced and deletes its chunks.
    private func endUpload(of file: FileID, _ item: ChatItem) throws {
        try scheduleChunkDeletion(ofUpload: file)
        try startExpiry(of: file)
        try post(
            .unsent(item.id),
            to: ChatSide(profile: profile, chat: tables.chats.id(of: item.chat, of: profile)))
    }
}
