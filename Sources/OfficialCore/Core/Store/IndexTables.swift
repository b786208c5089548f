import ChatCore
import Store

/// The tables of the index in one transaction.
struct IndexTables {
    let chats: ChatTable
    let items: ItemTable
    let walks: WalkTable
    let sends: SendTable
    let keptCopies: KeptCopyTable
    let identity: IdentityTable
    let place: PlaceTable
    let review: ReviewTable
    let previews: PreviewTable
    let texts: TextTable

    init(_ connection: Connection) {
        chats = ChatTable(connection: connection)
        items = ItemTable(connection: connection)
        walks = WalkTable(connection: connection)
        sends = SendTable(connection: connection)
        keptCopies = KeptCopyTable(connection: connection)
        identity = IdentityTable(connection: connection)
        place = PlaceTable(connection: connection)
        review = ReviewTable(connection: connection)
        previews = PreviewTable(connection: connection)
        texts = TextTable(connection: connection)
    }

    /// Returns the error for a missing item: the chat or the item is unknown.
    func absence(in chat: ChatReference) throws -> ChatError {
        try knows(chat) ? ChatError.noSuchItem : ChatError.noSuchChat
    }

    /// Returns true for a known chat, or a former one whose files are still here.
    func knows(_ chat: ChatReference) throws -> Bool {
        try chats.chat(chat) != nil || items.holds(chat)
    }

    /// Returns the item of a received file.
    /// - Throws: `ChatError.noSuchFile`, also for a sent file.
    func item(ofReceived file: FileID) throws -> ChatItem {
        guard let item = try items.item(of: file), item.direction == .received else {
            throw ChatError.noSuchFile
        }
        return item
    }
}
