import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// Adds a chat, the folder of links, to a core, and passes all other calls on.
///
/// Files sent into that chat are uploaded without a chat. Their items then have a link, and a second item is a small
/// file that holds it. `addLink` adds an item whose file is received like any other. So names, drafts, reads and the
/// cache need no knowledge of links.
public final class LinkedCore: ChatCore, ContactForwarding {
    private let core: any ChatCore
    public var contacts: any ContactKeeping { core }
    private let store: LinkStore
    private let uploads: LinkUploads
    private let claims: LinkClaims
    private let reader: LinkReader

    /// Continues the unfinished work of an earlier process.
    ///
    /// - Parameters:
    ///   - core: Performs the uploads.
    ///   - folder: The profile's folder for the database. Absolute.
    ///   - key: The key of the database, or nil for a plain one.
    ///   - client: Fetches descriptions behind links.
    ///   - approve: Permits receiving from relays. Blocks.
    public convenience init(
        _ core: any ChatCore, folder: String, key: SecretBytes? = nil, client: XFTPClient,
        approve: @escaping @Sendable ([RelayAddress]) throws -> Void
    ) {
        self.init(
            core, folder: folder, key: key, client: client, approve: approve, clock: SystemWallClock(),
            retry: RetryPolicy(first: .seconds(2), maxDelay: .seconds(300), tries: .max))
    }

    init(
        _ core: any ChatCore, folder: String, key: SecretBytes? = nil, client: XFTPClient,
        approve: @escaping @Sendable ([RelayAddress]) throws -> Void, clock: any WallClock,
        retry: RetryPolicy
    ) {
        self.core = core
        store = LinkStore(
            path: folder + "/links.sqlite", key: key,
            folder: LinkFolder(path: LinkFolder.path(in: core.stagingFolder, of: core.profile)),
            owner: core.profile.displayName, clock: clock)
        uploads = LinkUploads(core, store, retry: retry)
        claims = LinkClaims(core, store)
        reader = LinkReader(core: core, client: client, approve: approve)
        uploads.resume()
    }

    /// Call before the core beneath is shut down.
    public func close() async {
        await uploads.close()
        await blocking.attempt("close the links") { [store] in store.close() }
    }

    // MARK: - The profile

    public var profile: Profile { core.profile }
    public var stagingFolder: String { core.stagingFolder }
    public var limits: ChatLimits { core.limits }

    /// The files of the core and those of links. The order between them does not matter.
    public func events() -> AsyncStream<ChatEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChatEvent.self)
        let (beneath, own) = (core.events(), store.events.listen())
        let passing = Task {
            for await event in beneath { continuation.yield(event) }
            continuation.finish()
        }
        let adding = Task { for await event in own { continuation.yield(event) } }
        continuation.onTermination = { _ in
            passing.cancel()
            adding.cancel()
        }
        return stream
    }

    // MARK: - Reading

    public func chats() async throws(ChatError) -> [Chat] {
        let changed = store.changed
        return try await core.chats() + [
            Chat(
                reference: .links, displayName: "Links", updatedAt: changed,
                // No texts, and only readers fetch the files of links.
                supportedActions: [.upload, .markRead, .mute, .approve])
        ]
    }

    public func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        guard chat == .links else { return try await core.items(of: chat, before: before, count: count) }
        let last = before.map { $0.rawValue - ItemID.firstOfLinks.rawValue }
        return try await blocking.run { [store] in
            try store.read(or: []) { try $0.rows(before: last, count: max(count, 0)) }.map(store.item)
        }
    }

    public func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        guard chat == .links else { return try await core.item(id, in: chat) }
        guard let row = try await row(id) else {
            throw ChatError(.noSuchItem, "There is no such link.")
        }
        return store.item(row)
    }

    public func preview(of item: ItemID, in chat: ChatReference) async throws(ChatError) -> String {
        guard chat == .links else { return try await core.preview(of: item, in: chat) }
        return try await self.item(item, in: chat).content.preview
    }

    public func item(of file: FileID) async throws(ChatError) -> ChatItem? {
        guard file.isOfLink else { return try await core.item(of: file) }
        let id = file.rawValue - FileID.firstOfLinks.rawValue + ItemID.firstOfLinks.rawValue
        return try await row(ItemID(id)).map(store.item)
    }

    private func row(_ item: ItemID) async throws(ChatError) -> LinkRow? {
        let id = item.rawValue - ItemID.firstOfLinks.rawValue
        let row = try await blocking.run { [store] in try store.read(or: nil) { try $0.row(id) } }
        return row?.status == .removed ? nil : row
    }

    public func itemCount() async throws(ChatError) -> Int {
        let own = try await blocking.run { [store] in try store.read(or: 0) { try $0.count() } }
        return try await core.itemCount() + own
    }

    public func unsettledItems() async throws(ChatError) -> [ChatItem] {
        let own = try await blocking.run { [store] in
            try store.read(or: []) { try $0.rows([.uploading, .failed]) }.map(store.item)
        }
        return try await core.unsettledItems() + own
    }

    /// Links have no retention rule: readers fetch their files on demand.
    public func receivableItems(
        after position: ExpiryPosition, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await core.receivableItems(after: position, count: count)
    }

    public func itemsElsewhere(before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        try await core.itemsElsewhere(before: before, count: count)
    }

    /// Links are no messages.
    public func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] {
        try await core.messageLogs()
    }

    public func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] {
        guard chat != .links else { throw ChatError(.noSuchChat, "The folder of links has no texts.") }
        return try await core.messageLog(of: chat, from: offset, count: count)
    }

    public func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        guard chat != .links else {
            throw ChatError(.sendingRefused, "The folder of links takes no texts, because it has no readers.")
        }
        try await core.send(text, to: chat)
    }

    public func noteOpened(_ item: ItemID, in chat: ChatReference) {
        if chat != .links { core.noteOpened(item, in: chat) }
    }

    // MARK: - Sending and deleting

    public func expectToSend(_ size: UInt64) { core.expectToSend(size) }

    public func streamForm(for chat: ChatReference, name: String) -> StreamForm? {
        chat == .links ? nil : core.streamForm(for: chat, name: name)
    }

    public func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> ChatItem {
        guard chat == .links else { return try await core.send(message, to: chat) }
        guard message.size <= FilePolicy.standaloneLimit else {
            throw ChatError(
                .tooLarge,
                "The file is too large: links take up to \(FilePolicy.standaloneLimit) bytes (5 GiB).")
        }
        let row = try await blocking.run { [store] in try store.add(message) }
        uploads.start(row.id)
        return store.item(row)
    }

    public func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        chat == .links ? await sendOneByOne(messages, to: chat) : await core.send(messages, to: chat)
    }

    public func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem? {
        guard chat == .links else { return try await core.item(sentAs: message, in: chat) }
        return try await blocking.run { [store] in
            try store.read(or: nil) { try $0.row(sentAs: message) }.map { store.item($0) }
        }
    }

    public func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        guard chat == .links else { return try await core.deleteItems(items, in: chat, mode: mode) }
        let ids = items.map { $0.rawValue - ItemID.firstOfLinks.rawValue }
        for id in try await blocking.run({ [store] in try store.remove(ids) }) { uploads.start(id) }
    }

    // MARK: - Files

    public func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? {
        file.isOfLink ? try await claims.location(of: file) : try await core.location(of: file)
    }

    public func location(
        of file: FileID, progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation? {
        file.isOfLink
            ? try await claims.location(of: file) : try await core.location(of: file, progress: progress)
    }

    /// - Throws: `.invalidCommand` for the file of a link; otherwise as the core beneath.
    public func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        guard file.isOfLink else { return try await core.receiveFile(file, approvedRelays: approvedRelays) }
        throw try await refusalToReceive(file)
    }

    /// - Throws: `.invalidCommand` for the file of a link; otherwise as the core beneath.
    public func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        guard file.isOfLink else {
            return try await core.setFileToReceive(file, approvedRelays: approvedRelays)
        }
        throw try await refusalToReceive(file)
    }

    private func refusalToReceive(_ file: FileID) async throws(ChatError) -> ChatError {
        // The other error if there is no such file.
        _ = try await claims.location(of: file)
        return ChatError(.invalidCommand, "Read the file of a link to receive it.")
    }

    public func relaysWereApproved() async { await core.relaysWereApproved() }

    public func cancelFile(_ file: FileID) async throws(ChatError) {
        guard file.isOfLink else { return try await core.cancelFile(file) }
        let id = file.rawValue - FileID.firstOfLinks.rawValue
        try await blocking.run { [store] in try store.cancel(id) }
        uploads.start(id)
    }

    public func relays(of file: FileID) async -> [String] {
        file.isOfLink ? await claims.relays(of: file) : await core.relays(of: file)
    }

    public var receivesWhatIsClaimed: Bool { core.receivesWhatIsClaimed }

    public func claimFile(
        _ file: FileID, approvedRelays: Bool
    ) async throws(ChatError) -> ClaimedFile? {
        guard file.isOfLink else { return try await core.claimFile(file, approvedRelays: approvedRelays) }
        return try await claims.claim(file)
    }

    public func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        guard file.isOfLink else { return try await core.completeClaim(file, staged: staged) }
        return try await claims.complete(file, staged: staged)
    }

    public func abandonClaim(_ file: FileID, problem: FileProblem?) async {
        guard file.isOfLink else { return await core.abandonClaim(file, problem: problem) }
        await claims.abandon(file, problem)
    }

    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        guard file.isOfLink else { return try await core.giveUpCopy(of: file, at: location) }
        return try await claims.giveUpCopy(of: file, at: location)
    }

    // MARK: - Links

    public func addLink(
        _ link: String, named name: String?, approvingRelays: Bool
    ) async throws(ChatError) -> ChatItem {
        let parsed = try await LinkReader.parse(link)
        let digest = LinkReader.digest(of: parsed)
        let known = try await blocking.run { [store] in
            try store.read(or: nil) { try $0.row(ofLink: digest) }
        }
        // Added again because its data was unavailable the last time.
        if let known, known.status != .lost { return store.item(known) }
        let addition = try await reader.read(parsed, named: name, approving: approvingRelays)
        return try await blocking.run { [store] in store.item(try store.add(addition)) }
    }

    // MARK: - Passed on

    public func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        try await core.uploadStandaloneFile(path)
    }

    public func uploadStandaloneFile(
        _ source: FileSourceLocation, named name: String
    ) async throws(ChatError) -> FileID {
        try await core.uploadStandaloneFile(source, named: name)
    }

    public var uploadsCryptoFiles: Bool { core.uploadsCryptoFiles }

    public func outcomeOfStandaloneUpload(_ file: FileID) async throws(ChatError) -> StandaloneOutcome? {
        try await core.outcomeOfStandaloneUpload(file)
    }

    public func checkRelays(of description: String) async throws(ChatError) {
        try await core.checkRelays(of: description)
    }

    public func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        try await core.downloadStandaloneFile(link, to: path)
    }

    public func cancelStandaloneFile(_ file: FileID) async throws(ChatError) {
        try await core.cancelStandaloneFile(file)
    }

    public func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        try await core.standaloneFileInfo(link)
    }

    // The folder of links is a chat without another side.

    private static func refuse(_ chat: ChatReference) throws(ChatError) {
        guard chat != .links else {
            throw ChatError(.invalidCommand, "The folder of links belongs to the profile.")
        }
    }

    public func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.renameChat(chat, to: name)
    }

    public func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity? {
        chat == .links ? nil : try await core.security(of: chat)
    }

    public func verify(_ chat: ChatReference, code: String?) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.verify(chat, code: code)
    }

    public func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.requireVerification(of: chat, isRequired)
    }

    public func renewKeys(of chat: ChatReference) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.renewKeys(of: chat)
    }

    public func moveQueue(of chat: ChatReference) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.moveQueue(of: chat)
    }

    public func leaveChat(_ chat: ChatReference) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.leaveChat(chat)
    }

    public func deleteChat(_ chat: ChatReference) async throws(ChatError) {
        try Self.refuse(chat)
        try await core.deleteChat(chat)
    }
}
