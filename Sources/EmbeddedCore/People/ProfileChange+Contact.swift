import Base
import ChatCore
import ChatProtocol

/// What is said of a file that was sent over the network, to the contact or in the group; nothing where it was not.
extension ProfileChange {
    /// The file can be fetched.
    func describe(_ file: FileID, _ description: String) throws {
        guard let sent = try recipient(of: file) else { return }
        for part in DescriptionPart.parts(of: description, limit: ProtocolLimits.shortDescriptionPart) {
            try say(.description(of: sent.id, part), in: sent.chat, of: sent.item)
        }
    }

    func tellContact(ofFile file: FileID, _ event: (SharedMessageID) -> MessageEvent) throws {
        guard let sent = try recipient(of: file) else { return }
        try say(event(sent.id), in: sent.chat, of: nil)
    }

    /// Who cannot be reached any more misses it.
    private func say(_ event: MessageEvent, in chat: Int64, of item: ItemID?) throws {
        let id = SharedMessageID(from: SystemRandomSource())
        _ = try say(ChatMessage(event, id: id), in: chat, of: item)
    }

    private func recipient(
        of file: FileID
    ) throws -> (id: SharedMessageID, chat: Int64, item: ItemID)? {
        guard let item = try tables.items.item(of: file), let sent = try tables.sharedMessages.sent(item.id)
        else { return nil }
        return (sent.id, sent.chat, item.id)
    }
}
