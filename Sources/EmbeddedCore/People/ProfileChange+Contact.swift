import Base
import ChatCore
import ChatProtocol

/// Messages about files sent over the network. No effect for local chats.
extension ProfileChange {
    /// Sends a file's description in parts. The recipient can download once the last part is on its server.
    func describe(_ file: FileID, _ description: String) throws {
        guard let sent = try recipient(of: file) else { return }
        let parts = DescriptionPart.parts(of: description, limit: ProtocolLimits.shortDescriptionPart)
        for (number, part) in parts.enumerated() {
            try say(
                .description(of: sent.id, part), in: sent.chat, of: sent.item,
                announces: number == parts.count - 1)
        }
    }

    func notifyContact(ofFile file: FileID, _ event: (SharedMessageID) -> MessageEvent) throws {
        guard let sent = try recipient(of: file) else { return }
        try say(event(sent.id), in: sent.chat, of: nil)
    }

    /// Sends an event to those who can still be reached.
    private func say(
        _ event: MessageEvent, in chat: Int64, of item: ItemID?, announces: Bool = false
    ) throws {
        let id = SharedMessageID(from: SystemRandomSource())
        _ = try say(ChatMessage(event, id: id), in: chat, of: item, announces: announces)
    }

    private func recipient(
        of file: FileID
    ) throws -> (id: SharedMessageID, chat: Int64, item: ItemID)? {
        guard let item = try tables.items.item(of: file), let sent = try tables.sharedMessages.sent(item.id)
        else { return nil }
        return (sent.id, sent.chat, item.id)
    }
}
