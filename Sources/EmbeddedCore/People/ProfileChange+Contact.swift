import Agent
import Base
import ChatCore
import ChatProtocol

/// What is said to the contact of a file that was sent over the network; nothing where it was not.
extension ProfileChange {
    /// The file can be fetched.
    func describe(_ file: FileID, _ description: String) throws {
        guard let sent = try recipient(of: file) else { return }
        for part in DescriptionPart.parts(of: description, limit: ProtocolLimits.descriptionPart) {
            try say(.description(of: sent.id, part), to: sent.connection)
        }
    }

    func tellContact(ofFile file: FileID, _ event: (SharedMessageID) -> MessageEvent) throws {
        guard let sent = try recipient(of: file) else { return }
        try say(event(sent.id), to: sent.connection)
    }

    private func say(_ event: MessageEvent, to connection: ConnectionID) throws {
        let id = SharedMessageID(from: SystemRandomSource())
        try send(OutgoingMessage(ChatMessage(event, id: id), to: connection))
    }

    private func recipient(of file: FileID) throws -> (id: SharedMessageID, connection: ConnectionID)? {
        guard let item = try tables.items.item(of: file), let sent = try tables.sharedMessages.sent(item.id),
            let connection = try tables.people.connection(ofChat: sent.chat)
        else { return nil }
        return (sent.id, connection)
    }
}
