import Base
import ChatCore
import CoreServices
import Glibc
import Network
import Posix
import XFTP

/// A profile of a data directory: a chat core without external programs. Messages reach other profiles of the
/// directory through its database, and people on the network through messaging servers. Files of more than
/// 261,120 bytes go through XFTP relays.
///
/// One process holds a profile at a time. A message within the directory is delivered to sender and
/// recipients in one transaction. Everything that must not be lost is stored before it is reported, so the
/// process may be killed at any moment; the next `open` resumes unfinished work.
///
/// This type only connects the services.
public final class EmbeddedCore: ChatCore, ContactForwarding {
    public var profile: Profile { store.profile }
    public var limits: ChatLimits { Self.limits }
    public var stagingFolder: String { store.folders.stagingPath }
    /// Absolute path of the profile's folder in the data directory, where other parts store files too.
    public var folder: String { store.folders.path }
    /// Connections to relays, for the core's transfers and for fetching claimed files. Addresses inside this
    /// machine's own network must be configured or approved relays.
    public let client: XFTPClient

    /// Decides which files are received automatically.
    public var arrivals: ArrivalRule { store.arrivals }

    /// Equal for all profiles.
    public static let limits = ChatLimits(
        maxFileSize: FilePolicy.xftpLimit, maxSentTogether: 32)

    let store: ProfileStore
    private let directory: DataDirectory
    let trust: ServerTrust
    /// Permitted destinations for addresses named by other people, for messages and files.
    private let policy: OutboundPolicy
    private let scheduler: TransferScheduler
    private let sender: MessageSender
    private let texts: TextSender
    private let uploads: Uploads
    private let downloads: Downloads
    private let deletions: ChunkDeletions
    private let standaloneFiles: StandaloneFiles
    private let receiver: FileReceiver
    private let claims: FileClaims
    private let approvals: RelayApprovals
    let removals: Removals
    let disappearing: Disappearing
    private let inlineFiles: InlineFiles
    private let inbox: Inbox
    let people: People
    public var contacts: any ContactKeeping { people }
    private let listener = Lock<ChangeSignalListener?>(nil)

    /// Locks the profile for this process. Blocks.
    private init(
        _ directory: DataDirectory, profile: Profile, mountpoint: String?, relays: [RelayWithPassword],
        arrivals: ArrivalRule, transfers: (any FileTransfers)?, retry: RetryPolicy, lockTimeout: Duration,
        agent: @escaping ProfileAgent.Making
    ) throws {
        self.directory = directory
        let trust = ServerTrust()
        self.trust = trust
        let policy = OutboundPolicy(look: trust.look, isChosen: trust.holds)
        self.policy = policy
        let network = try directory.networkChoice(of: profile)
        // Separates this profile's connections from others at a SOCKS proxy, while it is open.
        let isolation = SOCKSProxy.freshIsolation()
        var settings = XFTPClientSettings(policy: policy)
        settings.proxy = network.proxy(isolation: isolation)
        client = XFTPClient(settings: settings)
        let transfers = transfers ?? XFTPTransfers(client: client)
        let scheduler = TransferScheduler(retry: retry)
        self.scheduler = scheduler
        let folders = try directory.profileFolders(of: profile)
        store = ProfileStore(
            profile, in: directory, folders: folders,
            lock: try .takeProfile(
                OpenFile(folders.path + "/lock", flags: O_RDWR | O_CREAT), mountpoint: mountpoint,
                timeout: lockTimeout),
            arrivals: arrivals, progress: { scheduler.progress })
        let damaged = DamagedCopies(store)
        try damaged.importEarlierKeys()
        let approvals = RelayApprovals(store, trust)
        self.approvals = approvals
        trust.begin { [weak approvals] in approvals?.look() }
        deletions = ChunkDeletions(store, scheduler, transfers)
        uploads = Uploads(store, scheduler, transfers, approvals, deletions)
        downloads = Downloads(store, scheduler, transfers, approvals, damaged)
        standaloneFiles = StandaloneFiles(store, scheduler, transfers, uploads)
        sender = MessageSender(store, uploads)
        texts = TextSender(store)
        inlineFiles = InlineFiles(store)
        receiver = FileReceiver(
            store: store, scheduler: scheduler, relays: approvals, inlineFiles: inlineFiles,
            downloads: downloads)
        claims = FileClaims(
            store: store, scheduler: scheduler, relays: approvals, downloads: downloads, damaged: damaged)
        removals = Removals(store: store, downloads: downloads, deletions: deletions, damaged: damaged)
        let disappearing = Disappearing(store, removals)
        self.disappearing = disappearing
        store.onDisappearing { [weak disappearing] in disappearing?.scheduleLook() }
        inbox = Inbox(store, inlineFiles, receiver, downloads, claims, deletions)
        people = People(
            store, key: directory.key, network: network, isolation: isolation, policy: policy, retry: retry,
            make: agent)
        if !relays.isEmpty { try directory.store.change { try $0.relays.add(relays, to: profile.id) } }
        try store.read { _ = try approvals.follow($0) }
        try inbox.processAtStart()
    }

    // MARK: - Opening and closing

    /// Opens a profile and resumes unfinished work.
    ///
    /// - Parameters:
    ///   - name: name of the profile; nil takes the preset or only one.
    ///   - mountpoint: shown to other processes that want the profile.
    ///   - relays: upload relays to add to the profile, also trusted for downloads.
    ///   - arrivals: decides which files are received automatically.
    /// - Throws: `.profileInUse` naming the holder, after waiting up to 10 s for one that is closing;
    ///   `.noSuchProfile`; `.storage`, `.file(.noSpace)`.
    public static func open(
        _ directory: DataDirectory, profile name: String?, mountpoint: String? = nil,
        relays: [RelayAddress] = [], arrivals: ArrivalRule = ArrivalRule()
    ) async throws(ChatError) -> EmbeddedCore {
        try await open(
            directory, profile: name, mountpoint: mountpoint, relays: relays.map(RelayWithPassword.init),
            arrivals: arrivals, transfers: nil,
            retry: RetryPolicy(first: .seconds(2), maxDelay: .seconds(300), tries: .max))
    }

    /// The same for a profile that was found before and may have another name by now.
    public static func open(_ directory: DataDirectory, profile: Profile) async throws(ChatError)
        -> EmbeddedCore
    {
        let profiles = try await blocking.run { try directory.profiles() }
        guard let now = profiles.first(where: { $0.id == profile.id }) else {
            throw ChatError(.noSuchProfile, "The profile \(profile.displayName) was deleted.")
        }
        let core = try await open(directory, profile: now.displayName)
        guard core.profile.id == profile.id else {
            await core.shutDown()
            throw ChatError(
                .noSuchProfile, "The profile \(profile.displayName) was renamed meanwhile; try again.")
        }
        return core
    }

    /// Like the public `open`, with given transfers and retry delays.
    static func open(
        _ directory: DataDirectory, profile name: String?, mountpoint: String?,
        relays: [RelayWithPassword], arrivals: ArrivalRule = ArrivalRule(),
        transfers: (any FileTransfers)?, retry: RetryPolicy,
        lockTimeout: Duration = .seconds(10), agent: @escaping ProfileAgent.Making = ProfileAgent.overNetwork
    ) async throws(ChatError) -> EmbeddedCore {
        let core = try await blocking.run {
            let profile = try directory.profile(named: name)
            return try EmbeddedCore(
                directory, profile: profile, mountpoint: mountpoint, relays: relays, arrivals: arrivals,
                transfers: transfers, retry: retry, lockTimeout: lockTimeout, agent: agent)
        }
        do throws(SystemError) {
            try core.listen(to: directory.signal)
        } catch {
            throw ChatError(wrapping: error)
        }
        // Delete expired messages before they can be read.
        await core.disappearing.look()
        core.resumeTransfers()
        core.people.resume()
        return core
    }

    private func listen(to signal: ChangeSignal) throws(SystemError) {
        let listener = try ChangeSignalListener(
            signal,
            signalled: { [weak inbox, weak store, weak disappearing] in
                // Another process may have ended one of the profile's chats.
                store?.noteOutgoing()
                disappearing?.scheduleLook()
                return inbox?.takeIn() ?? true
            },
            quiet: { [weak inlineFiles] in inlineFiles?.emptyJournal() })
        self.listener.withLock { $0 = listener }
    }

    /// Resumes all unfinished transfers. Returns at once.
    private func resumeTransfers() {
        Task { [weak self] in
            guard let self else { return }
            do throws(ChatError) {
                let unfinished = try await blocking.run { [self] in
                    // Include files whose description is missing or arrived while the profile was closed.
                    try receiver.beginRequested(ofStatus: [.rcvInvitation, .rcvAccepted, .rcvAborted])
                    return try store.read { try $0.files.unfinished() }
                }
                for transfer in unfinished {
                    switch (transfer.isUpload, transfer.isStandalone) {
                    case (true, _): uploads.start(transfer.file)
                    case (false, false): downloads.start(transfer.file)
                    case (false, true): standaloneFiles.startDownload(transfer.file)
                    }
                }
                deletions.start()
            } catch {
                log.warning("transfers not resumed: error=\(error.sentence)")
            }
        }
    }

    /// Announces that the profile will soon be free. Other processes then wait up to 10 s instead of failing.
    /// Call it before lengthy work that precedes `shutDown`.
    public func announceEnd() { store.announceEnd() }

    /// Stops transfers, which the next start resumes, ends all event streams and releases the profile.
    /// - Parameter time: limit for sending waiting messages to reachable servers.
    public func shutDown(finishingWithin time: Duration = .seconds(5)) async {
        store.announceEnd()
        disappearing.stop()
        await people.shutDown(finishingWithin: time)
        await listener.withLock { $0 }?.stop()
        await scheduler.close()
        client.close()
        await blocking.attempt("close the store") { [store] in store.close() }
    }

    /// Closes all connections and pauses transfers until `resume`, which retries all of them at once.
    /// Messages between profiles of this data directory continue, as they need no connection.
    public func suspend() {
        client.suspend()
        people.suspend()
    }

    public func resume() {
        client.resume()
        scheduler.retryNow()
        people.endSuspension()
    }

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
