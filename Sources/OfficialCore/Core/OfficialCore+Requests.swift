import Base
import ChatCore
import CoreServices

/// The requests of commands and of the file system, each passed to the service that answers it.
extension OfficialCore {
    // MARK: - Reading

    public func events() -> AsyncStream<ChatEvent> { index.events.listen() }

    public func chats() async throws(ChatError) -> [Chat] {
        try await index.reading { try $0.chats.shown() }
    }

    public func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await index.reading { tables in
            let items = try tables.items.items(of: chat, before: before, count: count)
            if items.isEmpty, try !tables.knows(chat) { throw ChatError.noSuchChat }
            return items
        }
    }

    public func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        let (known, absence) = try await index.reading { (try $0.items.item(id), try $0.absence(in: chat)) }
        if let known {
            guard known.chat == chat else { throw absence }
            return known
        }
        let began = ContinuousClock.now
        guard let item = try await connection.knownItem(id, in: APIChatReference(chat)) else { throw absence }
        let shown = try await index.committing { [recent] change in
            // The item was deleted meanwhile, or changed after the answer.
            if recent.contains(id, since: began) { return try change.tables.items.item(id) }
            return try change.take(item, .sending)
        }
        guard let shown else { throw absence }
        return shown
    }

    /// Reads the preview from the core. The index has none, because only the core's database may be
    /// encrypted, except those of a phone, which may be away.
    public func preview(of item: ItemID, in chat: ChatReference) async throws(ChatError) -> String {
        let (text, kept) = try await index.reading { tables in
            guard try tables.items.item(item)?.chat == chat else { throw try tables.absence(in: chat) }
            return (try tables.items.reference(of: item), try tables.previews.preview(of: item))
        }
        if let kept { return kept }
        guard let reference = text.flatMap({ APIChatReference(text: $0) }),
            let known = try await connection.knownItem(item, in: reference)
        else { throw ChatError.noSuchItem }
        let preview = known.content?.preview ?? ""
        if settings.phone != nil, !preview.isEmpty {
            await blocking.attempt("keep a preview") { [index] in
                try index.write { try $0.previews.put(preview, of: item) }
            }
        }
        return preview
    }

    public func item(of file: FileID) async throws(ChatError) -> ChatItem? {
        try await index.reading { try $0.items.item(of: file) }
    }

    public func itemCount() async throws(ChatError) -> Int {
        try await index.reading { try $0.items.count() }
    }

    public func unsettledItems() async throws(ChatError) -> [ChatItem] {
        try await index.reading { try $0.items.unsettled() }
    }

    public func receivableItems(
        after position: ExpiryPosition, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await index.reading { try $0.items.leaving(after: position, count: count) }
    }

    public func itemsElsewhere(before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        try await index.reading { try $0.items.elsewhere(before: before, count: count) }
    }

    public func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? {
        try await claims.location(of: file)
    }

    public func location(
        of file: FileID, progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation? {
        try await claims.location(of: file, progress: progress)
    }

    // MARK: - Copies of a phone's files

    /// True if the core is connected.
    public var isReachable: Bool { connection.isConnected }

    /// Returns true if all readable history was read over the current connection.
    public func hasReadHistory() async throws(ChatError) -> Bool {
        guard connection.isConnected, reconciliation.hasCompared else { return false }
        if reconciliation.hasReadAll { return true }
        return try await index.reading { try $0.walks.unfinished().isEmpty }
    }

    /// Returns the chats with unread history. After `hasReadHistory`, these are the chats whose history the
    /// core refused.
    public func chatsWithUnreadHistory() async throws(ChatError) -> Set<ChatReference> {
        try await blocking.run { [index] in
            try Set(index.read { try $0.walks.unfinished() }.map(\.reference.chat))
        }
    }

    /// Returns true if this machine has a copy of a phone's file.
    public func holdsCopy(of file: FileID) async throws(ChatError) -> Bool {
        try await index.reading { try $0.keptCopies.source(of: file) != nil }
    }

    /// Removes the copy of a file that the phone still has.
    public func dropCopy(of file: FileID) async throws(ChatError) { try await claims.dropCopy(of: file) }

    // MARK: - Sending and deleting

    public func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> ChatItem {
        switch try await sender.send(message, to: chat) {
        case .sent(let item): item
        case .wasSent(let id): try await item(id, in: chat)
        }
    }

    public func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        try await texts.send(text, to: chat)
    }

    /// Only a phone has logs here: the index of another core may be less protected than the core's own database.
    public func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] {
        guard settings.phone != nil else { return [:] }
        return try await blocking.run { [index] in try index.read { try $0.texts.logs() } }
    }

    public func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] {
        guard settings.phone != nil else { throw ChatError(.noSuchChat, "This core keeps no texts.") }
        return try await blocking.run { [index] in
            try index.read { try $0.texts.bytes(of: chat, from: offset, count: count) }
        }
    }

    public func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem? {
        guard let id = try await sender.item(sentAs: message, in: chat) else { return nil }
        do throws(ChatError) {
            return try await item(id, in: chat)
        } catch {
            // The item was deleted meanwhile.
            if error.code == .noSuchItem { return nil }
            throw error
        }
    }

    public func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        try await removals.delete(items, in: chat, mode: mode)
    }

    public var receivesWhatIsClaimed: Bool { true }

    public func noteOpened(_ item: ItemID, in chat: ChatReference) {
        if settings.marksRead { readReceipts.noteOpened(item) }
    }

    // MARK: - Transfers

    public func relays(of file: FileID) async -> [String] { await claims.relays(of: file) }

    public func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await receiver.receiveKnown(file, approvedRelays: approvedRelays)
    }

    public func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await receiver.setToReceive(file, approvedRelays: approvedRelays)
    }

    public func relaysWereApproved() async { await receiver.relaysWereApproved() }

    public func cancelFile(_ file: FileID) async throws(ChatError) { try await removals.cancel(file) }

    public func claimFile(
        _ file: FileID, approvedRelays: Bool
    ) async throws(ChatError) -> ClaimedFile? {
        try await claims.claim(file, approvedRelays: approvedRelays)
    }

    public func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        try await claims.complete(file, staged: staged)
    }

    public func abandonClaim(_ file: FileID, problem: FileProblem?) async { claims.abandon(file) }

    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        try await claims.giveUpCopy(of: file, at: location)
    }

    // MARK: - Standalone files

    public func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        try await standaloneFiles.upload(path)
    }

    public func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        try await receiver.checkOwnNetwork(of: link)
        return try await standaloneFiles.download(link, to: path)
    }

    public func cancelStandaloneFile(_ file: FileID) async throws(ChatError) {
        // The number of a message's file would cancel that file.
        let isOfMessage = try await index.reading { try $0.items.item(of: file) != nil }
        if isOfMessage { throw ChatError.noSuchFile }
        try await removals.cancel(file)
    }

    public func checkRelays(of description: String) async throws(ChatError) {
        try await receiver.check(description)
    }

    /// Parsed from the link, because the core would only return text of the sender.
    public func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        try await .described(by: link)
    }

    // MARK: - Chats

    public func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError) {
        try await management.rename(chat, to: name)
    }

    public func leaveChat(_ chat: ChatReference) async throws(ChatError) { try await management.leave(chat) }

    public func deleteChat(_ chat: ChatReference) async throws(ChatError) {
        try await management.delete(chat)
    }
}
