import ChatCore
import CoreServices

/// The requests of commands and of the file system, each passed to the service that answers it.
extension EmbeddedCore {
    // MARK: - Reading

    public func events() -> AsyncStream<ChatEvent> { store.events.listen() }

    public func chats() async throws(ChatError) -> [Chat] {
        try await store.reading { [store] in try $0.chats.all(of: store.profile.id) }
    }

    public func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await store.reading { [store] tables in
            let id = try tables.chats.id(of: chat, of: store.profile.id)
            return try tables.items.items(in: id, before: before, count: max(count, 0))
        }
    }

    public func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        try await store.reading { [store] tables in
            _ = try tables.chats.id(of: chat, of: store.profile.id)
            guard let item = try tables.items.item(id), item.chat == chat else {
                throw ChatError.noSuchItem
            }
            return item
        }
    }

    public func item(of file: FileID) async throws(ChatError) -> ChatItem? {
        try await store.reading { try $0.items.item(of: file) }
    }

    public func itemCount() async throws(ChatError) -> Int {
        try await store.reading { try $0.items.count() }
    }

    public func unsettledItems() async throws(ChatError) -> [ChatItem] {
        try await store.reading { try $0.items.unsettled() }
    }

    public func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] {
        try await store.reading { [store] in try $0.messageLog.logs(of: store.profile.id) }
    }

    public func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] {
        try await store.reading { [store] tables in
            let id = try tables.chats.id(of: chat, of: store.profile.id)
            return try tables.messageLog.bytes(of: id, from: offset, count: count)
        }
    }

    public func receivableItems(
        after position: ExpiryPosition, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await store.reading { try $0.items.leaving(after: position, count: count) }
    }

    // MARK: - Sending and deleting

    public func expectToSend(_ size: UInt64) { uploads.expect(size) }

    public func streamForm(for chat: ChatReference, name: String) -> StreamForm? {
        // Notes are never uploaded.
        if case .notes = chat { nil } else { XFTPTransfers.streamForm(name: name) }
    }

    public func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> ChatItem {
        try await sender.send(message, to: chat)
    }

    public func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        if let items = await sender.sendTogether(messages, to: chat) { return items.map { .success($0) } }
        return await sendOneByOne(messages, to: chat)
    }

    public func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        try await blocking.run { [texts] in try texts.send(text, to: chat) }
    }

    public func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem? {
        try await store.reading { try $0.items.item(sentAs: message) }
    }

    public func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        try await removals.delete(items, in: chat, mode: mode)
    }

    // MARK: - Transfers

    public func relays(of file: FileID) async -> [String] {
        // A reader of an invalid description gets the error.
        (try? await blocking.run { [approvals] in try approvals.addresses(of: file) }) ?? []
    }

    public func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await receiver.receive(file, approvedRelays: approvedRelays, acceptsEarly: true)
    }

    public func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await receiver.receive(file, approvedRelays: approvedRelays, acceptsEarly: false)
    }

    public func relaysWereApproved() async {
        await blocking.attempt("read approvals") { [approvals] in approvals.look() }
        people.serversWereApproved()
        await receiver.relaysWereApproved()
    }

    /// Deletes a received file's local copy but keeps its message. The file can be received again while
    /// relays have it.
    /// - Parameter lastCopyToo: whether to delete copies that no relay has.
    /// - Returns: false if the copy was kept: a last copy, a sent file, or no local copy.
    /// - Throws: `.noSuchFile`.
    public func freeCopy(of file: FileID, lastCopyToo: Bool) async throws(ChatError) -> Bool {
        try await removals.free(file, lastCopyToo: lastCopyToo)
    }

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

    public func abandonClaim(_ file: FileID, problem: FileProblem?) async {
        await claims.abandon(file, problem: problem)
    }

    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        try await claims.giveUpCopy(of: file, at: location)
    }

    // MARK: - Standalone files

    public func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        try await standaloneFiles.upload(path)
    }

    public var uploadsCryptoFiles: Bool { true }

    public func uploadStandaloneFile(
        _ source: FileSourceLocation, named name: String
    ) async throws(ChatError) -> FileID {
        try await standaloneFiles.upload(source, named: name)
    }

    public func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome? {
        try await standaloneFiles.outcome(of: file)
    }

    public func checkRelays(of description: String) async throws(ChatError) {
        try await blocking.run { [store, approvals] in
            let described = ReceivedDescription(parsing: description, size: nil)
            try store.read { try approvals.check(described, approvedNow: false, $0) }
        }
    }

    public func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        try await standaloneFiles.download(link, to: path)
    }

    public func cancelStandaloneFile(_ file: FileID) async throws(ChatError) {
        try await standaloneFiles.cancel(file, by: removals)
    }

    public func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        try await .described(by: link)
    }

    // MARK: - Chats and the profile

    public func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError) {
        try await blocking.run { [directory, profile] in try directory.rename(chat, of: profile, to: name) }
    }

    public func leaveChat(_ chat: ChatReference) async throws(ChatError) {
        try await blocking.run { [directory, profile] in try directory.leave(chat, of: profile) }
    }

    public func deleteChat(_ chat: ChatReference) async throws(ChatError) { try await removals.delete(chat) }

    /// Deletes the profile with all its data and releases it. The caller holds the profile and has not
    /// mounted it. Contacts keep their messages; chunks of unfinished uploads stay on relays until they
    /// expire.
    /// - Throws: `.storage`, `.file(.noSpace)`; the profile may be partly deleted then.
    public func deleteProfile() async throws(ChatError) {
        try await removals.deleteProfile()
        await shutDown()
        try await blocking.run { [store] in try store.folders.removeAll() }
    }
}
