/// Lists of chats and of messages with files.
///
/// Results come from the core's local store without the network, and are snapshots; `events` reports later
/// changes. Ids of chats, items and files never change and are never reused, so they may be stored across
/// restarts.
public protocol ChatReading: OpenProfile {
    /// Returns all chats: contacts, groups and notes.
    /// - Throws: the common errors (`OpenProfile`).
    func chats() async throws(ChatError) -> [Chat]

    /// Returns up to `count` items with a file older than `before`, newest first.
    /// - Throws: `.noSuchChat`.
    func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem]

    /// - Throws: `.noSuchChat`, `.noSuchItem`.
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem

    /// Returns the preview of an item's message as a data URI; empty without one. Lists may omit it. May
    /// query a core that is unreachable.
    /// - Throws: `.noSuchChat`, `.noSuchItem`.
    func preview(of item: ItemID, in chat: ChatReference) async throws(ChatError) -> String

    /// Returns the item of a file; nil without one.
    /// - Throws: the common errors (`OpenProfile`).
    func item(of file: FileID) async throws(ChatError) -> ChatItem?

    /// Returns the number of items with a file in all chats.
    /// - Throws: the common errors (`OpenProfile`).
    func itemCount() async throws(ChatError) -> Int

    /// Returns items whose file is in transfer, waits, or failed temporarily. Excludes expired, cancelled and
    /// blocked files, so they are few even in a long history.
    /// - Throws: the common errors (`OpenProfile`).
    func unsettledItems() async throws(ChatError) -> [ChatItem]

    /// Returns received items whose file is missing and may still come from a relay: offered, waiting, in
    /// transfer or failed temporarily. At most `count` items in order of expiry (`ChatFile.expires`). The
    /// time does not depend on the number of older ones.
    /// - Parameter position: end of the previous page.
    /// - Throws: the common errors (`OpenProfile`).
    func receivableItems(after position: ExpiryPosition, count: Int) async throws(ChatError) -> [ChatItem]

    /// Returns received items whose content only another machine has (`ChatFile.isElsewhere`): at most `count`, newest
    /// first, older than `before`.
    /// - Throws: the common errors (`OpenProfile`).
    func itemsElsewhere(before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem]

    /// Reports that a received file was opened. Returns at once; the core may ignore it.
    func noteOpened(_ item: ItemID, in chat: ChatReference)
}

extension ChatReading {
    /// For cores whose items contain previews.
    public func preview(of item: ItemID, in chat: ChatReference) async throws(ChatError) -> String {
        try await self.item(item, in: chat).content.preview
    }

    /// For cores whose files do not expire.
    public func receivableItems(
        after position: ExpiryPosition, count: Int
    ) async throws(ChatError) -> [ChatItem] { [] }

    /// For cores whose files are on this machine.
    public func itemsElsewhere(before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] { [] }

    /// For cores without expiring messages.
    public func noteOpened(_ item: ItemID, in chat: ChatReference) {}
}
