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
    let directory: DataDirectory
    let trust: ServerTrust
    /// Permitted destinations for addresses named by other people, for messages and files.
    private let scheduler: TransferScheduler
    let sender: MessageSender
    let texts: TextSender
    let uploads: Uploads
    private let downloads: Downloads
    private let deletions: ChunkDeletions
    let standaloneFiles: StandaloneFiles
    let receiver: FileReceiver
    let claims: FileClaims
    let approvals: RelayApprovals
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
}
