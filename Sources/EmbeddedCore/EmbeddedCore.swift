import Base
import ChatCore
import Glibc
import Posix
import Store
import XFTP

/// A profile of a data directory: the chat core that needs nothing but this machine. Messages reach
/// the other profiles of the directory through its database, files of more than 261,120 bytes through
/// XFTP relays.
///
/// One process holds a profile at a time. A message is delivered to sender and recipients in one
/// transaction; everything else that must not be lost is in the database before anybody is told, so
/// the process may be killed at any moment: the next `open` resumes what was under way.
public final class EmbeddedCore: ChatCore {
    public let profile: Profile
    public var limits: ChatLimits { Self.limits }
    public let stagingFolder: String
    /// The profile's own folder in the data directory, for others who keep something beside it. Absolute.
    public var folder: String { folders.path }
    /// Connections to relays, for the core's own transfers and for whoever fetches claimed files. Into
    /// this machine's own network it goes only to relays that are configured or approved.
    public let client: XFTPClient

    let directory: DataDirectory
    let folders: ProfileFolders
    let damaged: DamagedCopies
    let transfers: any FileTransfers
    let hub = EventHub()
    let desk: TransferDesk
    let trust: RelayTrust
    private let profileLock: ProcessLock
    private let listener = Lock<BellListener?>(nil)
    /// Small files were taken out of their rows since the journal was last emptied.
    let hasArrivalsInLog = Lock(false)

    /// The same for every profile.
    public static let limits = ChatLimits(
        largestFile: FilePolicy.xftpLimit, mostSentTogether: 32)

    /// For the blocking work of all cores of the process.
    static let pool = ThreadPool(name: "core", threads: 4)

    /// How long to wait for a process that is just leaving the profile.
    static let patience = Duration.seconds(10)
    /// Relays keep chunks that long (default of the official relay).
    static let relayExpiry = Duration.seconds(48 * 3600)

    init(
        _ directory: DataDirectory, profile: Profile, mountpoint: String?,
        transfers: (any FileTransfers)?, retry: RetryPolicy, patience: Duration
    ) throws {
        self.directory = directory
        self.profile = profile
        let trust = RelayTrust()
        self.trust = trust
        client = XFTPClient(settings: XFTPClientSettings(policy: RelayPolicy(isConfigured: trust.holds)))
        self.transfers = transfers ?? XFTPTransfers(client: client)
        desk = TransferDesk(retry: retry)
        folders = try ProfileFolders(of: profile, in: directory)
        damaged = DamagedCopies(profileFolder: folders.path)
        stagingFolder = folders.stagingPath
        let lock = try OpenFile(folders.path + "/lock", flags: O_RDWR | O_CREAT)
        switch try ProcessLock.take(lock, mountpoint: mountpoint, patience: patience) {
        case .taken(let lock): profileLock = lock
        case .refused(let holder):
            throw ChatError(
                .profileInUse, "The profile is in use by \(holder?.description ?? "another process").")
        }
    }

    /// Opens a profile and resumes what was under way.
    ///
    /// - Parameters:
    ///   - name: nil takes the only profile there is.
    ///   - mountpoint: told to others who want the profile.
    ///   - relays: kept in the profile, for this and for later uploads, and trusted for downloads.
    /// - Throws: `.profileInUse` naming the process that holds it, after waiting up to 10 s for one
    ///   that is finishing; `.noSuchProfile`.
    public static func open(
        _ directory: DataDirectory, profile name: String?, mountpoint: String? = nil,
        relays: [RelayAddress] = []
    ) async throws(ChatError) -> EmbeddedCore {
        try await open(
            directory, profile: name, mountpoint: mountpoint, relays: relays.map(RelayWithPassword.init),
            transfers: nil,
            retry: RetryPolicy(first: .seconds(2), longest: .seconds(300), tries: .max))
    }

    /// As `open`, with transfers and delays of the caller's choice.
    static func open(
        _ directory: DataDirectory, profile name: String?, mountpoint: String?,
        relays: [RelayWithPassword], transfers: (any FileTransfers)?, retry: RetryPolicy,
        patience: Duration = EmbeddedCore.patience
    ) async throws(ChatError) -> EmbeddedCore {
        let core = try await work {
            let profile = try directory.profile(named: name)
            let core = try EmbeddedCore(
                directory, profile: profile, mountpoint: mountpoint, transfers: transfers, retry: retry,
                patience: patience)
            try directory.keepRelays(relays, of: profile)
            try core.read { _ = try core.relayRules($0.connection) }
            try core.takeUp()
            return core
        }
        do throws(SystemError) {
            let listener = try BellListener(
                directory.bell, heard: { [weak core] in core?.hear() ?? true },
                quiet: { [weak core] in core?.clearLog() })
            core.listener.withLock { $0 = listener }
        } catch {
            throw ChatError(wrapping: error)
        }
        core.resumeTransfers()
        return core
    }

    public func events() -> AsyncStream<ChatEvent> { hub.listen() }

    /// Says that the profile will be free soon: who wants it waits for up to 10 s instead of being
    /// refused. For a holder that has things to finish before `shutDown`.
    public func announceEnd() { profileLock.finish() }

    /// Stops transfers (they go on at the next start), ends all event streams and lets the profile go.
    public func shutDown() async {
        profileLock.finish()
        await listener.withLock { $0 }?.stop()
        await desk.close()
        client.close()
        hub.close()
        // Another process may be reading: then the last one empties the log.
        _ = try? await work { [directory] in try directory.database.checkpoint() }
        profileLock.release()
    }

    // MARK: - Blocking work

    /// Runs blocking work on the core's threads.
    static func work<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ChatError) -> Result {
        do {
            return try await pool.run(body)
        } catch {
            throw ChatError(wrapping: error)
        }
    }

    func work<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws(ChatError) -> Result {
        try await Self.work(body)
    }

    /// Work that nobody waits for: when it fails the log says so, and the next start does it again.
    @discardableResult
    func attempt<Result: Sendable>(
        _ deed: String, _ body: @escaping @Sendable () throws -> Result
    ) async -> Result? {
        do throws(ChatError) {
            return try await work(body)
        } catch {
            log.warning("could not \(deed): \(sentenceWithCauses(of: error))")
            return nil
        }
    }

    /// Changes the store, then tells the listeners of this process and wakes the others. Blocks.
    @discardableResult
    func commit<Result>(_ body: (Change) throws -> Result) throws -> Result {
        var turn: UInt64?
        var events: [ChatEvent] = []
        defer { if let turn { hub.deliver(events, turn: turn) } }
        var change: Change?
        let result = try directory.database.transaction { connection in
            turn = hub.turn()
            let begun = Change(context: context(connection), profile: profile.id)
            change = begun
            return try body(begun)
        }
        if let change {
            events = change.events
            for name in change.abandonedFiles { folders.remove(name) }
            if change.ringsBell { directory.bell.ring() }
        }
        return result
    }

    /// Reads from one snapshot of the store. Blocks.
    func read<Result>(_ body: (ItemRows.Context) throws -> Result) throws -> Result {
        try directory.database.read { try body(context($0)) }
    }

    private func context(_ connection: Connection) -> ItemRows.Context {
        ItemRows.Context(
            connection: connection, filesPath: folders.filesPath, progress: desk.progress)
    }
}
