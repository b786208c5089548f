import ChatCore
import Store

extension EmbeddedCore {
    public func chats() async throws(ChatError) -> [Chat] {
        try await work { [self] in
            try read { try ItemRows.chats(of: profile.id, $0.connection) }
        }
    }

    public func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await work { [self] in
            try read { context in
                let id = try chatID(chat, context.connection)
                return try ItemRows.items(
                    ofChat: id, before: before?.rawValue ?? .max, count: max(count, 0), context)
            }
        }
    }

    public func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        try await work { [self] in
            try read { context in
                _ = try chatID(chat, context.connection)
                guard let item = try ItemRows.item(id.rawValue, of: profile.id, context), item.chat == chat
                else { throw ChatError.noSuchItem }
                return item
            }
        }
    }

    /// The number of a chat of this profile.
    func chatID(_ chat: ChatReference, _ connection: Connection) throws -> Int64 {
        let (kind, id) =
            switch chat {
            case .direct(let id): ("direct", id)
            case .group(let id): ("group", id)
            case .notes(let id): ("notes", id)
            }
        guard
            try connection.exists(
                "SELECT 1 FROM chat WHERE id = ? AND profile = ? AND kind = ?", id, profile.id, kind)
        else { throw ChatError.noSuchChat }
        return id
    }
}
