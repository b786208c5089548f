import Base
import ChatCore
import Desktop

extension NamedChats {
    /// Converts the chats listed by a mount's program socket.
    init(_ all: [ProgramChat]) {
        let chats = all.compactMap(Chat.init)
        let folders = Dictionary(zip(chats.map(\.reference), all.map(\.folder))) { first, _ in first }
        self.init(chats, folders: folders)
    }
}

extension Chat {
    fileprivate init?(_ chat: ProgramChat) {
        guard let reference = ChatReference(chat.chat) else { return nil }
        self.init(
            reference: reference, displayName: chat.name, updatedAt: Timestamp(seconds: chat.updated))
    }
}
