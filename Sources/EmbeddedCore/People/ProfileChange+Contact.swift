import Agent
import Base
import ChatCore
import ChatProtocol

/// What is said to the contact of a file that was sent over the network; nothing where it was not.
extension ProfileChange {
    /// The file can be fetched.
    func describe(_ file: FileID, _ description: String) throws {
        guard let sent = try recipient(of: file) else { return }
        for part in DescriptionPart.parts(of: description, limit: ProtocolLimits.shortDescriptionPart) {
            try say(.description(of: sent.id, part), to: sent.connection, of: sent.item)
        }
    }

    func tellContact(ofFile file: FileID, _ event: (SharedMessageID) -> MessageEvent) throws {
        guard let sent = try recipient(of: file) else { return }
        try say(event(sent.id), to: sent.connection)
    }

    private func say(
        _ event: MessageEvent, to connection: ConnectionID, of item: ItemID? = nil
    ) throws {
        let id = SharedMessageID(from: SystemRandomSource())
        try send(OutgoingMessage(ChatMessage(event, id: id), to: connection, of: item))
    }

    private func recipient(
        of file: FileID
    ) throws -> (id: SharedMessageID, connection: ConnectionID, item: ItemID)? {
        guard let item = try tables.items.item(of: file), let sent = try tables.sharedMessages.sent(item.id),
            let connection = try tables.people.connection(ofChat: sent.chat)
        else { return nil }
        return (sent.id, connection, item.id)
    }

    // MARK: - What became of it

    /// What became of a message that the agent was given: the file of it says so, and its line in the log of the chat.
    func settle(
        _ message: HandedMessageTable.Message, of connection: ConnectionID,
        _ outcome: HandedMessageTable.Outcome
    ) throws {
        if let item = message.item { try settle(item, outcome) }
        guard let id = message.id, let chat = try tables.people.person(connection)?.chat,
            try tables.messageLog.holds(id, in: chat)
        else { return }
        var line = MessageLine(.state, of: id, at: time, .sent, by: try ownName)
        switch outcome {
        case .delivered: line.state = "delivered"
        case .failed(let sentence): (line.state, line.error) = ("failed", sentence)
        }
        try write(line, to: ChatSide(profile: profile, chat: chat))
    }

    private func settle(_ id: ItemID, _ outcome: HandedMessageTable.Outcome) throws {
        guard let file = try tables.items.item(id)?.file else { return }
        switch outcome {
        case .delivered:
            if try tables.items.setDelivered(id) { try tell({ .chatItemUpdated($0) }, of: file.id) }
        case .failed(let sentence):
            let problem = FileProblem(.other, sentence)
            let isNew = try setStatus(
                .sndError, of: file.id, from: StoredFileStatus.uploading + [.sndComplete], problem: problem)
            if isNew { try tell({ .sndFileError($0, problem) }, of: file.id) }
        }
    }
}
