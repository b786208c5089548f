import ChatCore
import Store

/// The tables of the index, within one transaction.
struct IndexTables {
    let chats: ChatTable
    let items: ItemTable
    let walks: WalkTable
    let sends: SendTable
    let keptCopies: KeptCopyTable
    let identity: IdentityTable
    let place: PlaceTable

    init(_ connection: Connection) {
        chats = ChatTable(connection)
        items = ItemTable(connection)
        walks = WalkTable(connection)
        sends = SendTable(connection)
        keptCopies = KeptCopyTable(connection)
        identity = IdentityTable(connection)
        place = PlaceTable(connection)
    }

    /// Why there is no such item in a chat: of one that is unknown too that is the reason.
    func absence(in chat: ChatReference) throws -> ChatError {
        try knows(chat) ? ChatError.noSuchItem : ChatError.noSuchChat
    }

    /// Whether there is such a chat, or was one whose files are still here.
    func knows(_ chat: ChatReference) throws -> Bool {
        try chats.chat(chat) != nil || items.holds(chat)
    }

    /// The item of a received file.
    /// - Throws: `ChatError.noSuchFile`, also for one that was sent.
    func item(ofReceived file: FileID) throws -> ChatItem {
        guard let item = try items.item(of: file), item.direction == .received else {
            throw ChatError.noSuchFile
        }
        return item
    }
}
