/// Lists of chats and of messages with a file.
///
/// Answers come from the core's own store, without the network, so they are as quick as the disk. They are snapshots:
/// what changes afterwards is told by `events`. Numbers of chats, items and files never change and are never used
/// again, so they may be kept over restarts.
public protocol ChatReading: OpenProfile {
    /// All chats: contacts, groups, the notes.
    /// - Throws: as every command (`OpenProfile`).
    func chats() async throws(ChatError) -> [Chat]

    /// Up to `count` items with a file, newest first, older than `before`.
    /// - Throws: `.noSuchChat`.
    func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem]

    /// - Throws: `.noSuchChat`, `.noSuchItem`.
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem

    /// The preview that the message of an item carries, a data URI; empty when there is none. Lists may leave it out.
    /// May ask the core, which may be away.
    /// - Throws: `.noSuchChat`, `.noSuchItem`.
    func preview(of item: ItemID, in chat: ChatReference) async throws(ChatError) -> String

    /// The item that carries a file; nil when there is none, or none any more.
    /// - Throws: as every command (`OpenProfile`).
    func item(of file: FileID) async throws(ChatError) -> ChatItem?

    /// How many items with a file there are, in all chats.
    /// - Throws: as every command (`OpenProfile`).
    func itemCount() async throws(ChatError) -> Int

    /// Items whose file is on its way, waits, or failed for a reason that may pass. Few, however long the history is:
    /// what expired, or was cancelled or blocked, is not among them.
    /// - Throws: as every command (`OpenProfile`).
    func unsettledItems() async throws(ChatError) -> [ChatItem]

    /// Received messages whose file is not here and may still come from a relay: offered, waiting, on its way, or
    /// failed for a reason that may pass. At most `count` of them, those that relays drop first (`ChatFile.expires`)
    /// first; as quick however many older ones there are.
    /// - Parameter position: only what comes after it in that order.
    /// - Throws: as every command (`OpenProfile`).
    func receivableItems(after position: ExpiryPosition, count: Int) async throws(ChatError) -> [ChatItem]

    /// Somebody opened the file of a received message. Returns at once, promises nothing: what follows from
    /// that is the core's business.
    func noteOpened(_ item: ItemID, in chat: ChatReference)
}

extension ChatReading {
    /// For cores whose items hold it.
    public func preview(of item: ItemID, in chat: ChatReference) async throws(ChatError) -> String {
        try await self.item(item, in: chat).content.preview
    }

    /// For cores whose files do not expire.
    public func receivableItems(
        after position: ExpiryPosition, count: Int
    ) async throws(ChatError) -> [ChatItem] { [] }

    /// For cores without messages that disappear.
    public func noteOpened(_ item: ItemID, in chat: ChatReference) {}
}
