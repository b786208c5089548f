import Base
import ChatCore
import CoreServices
import Glibc
import Posix

/// A profile of the official SimpleX program, through its chat API.
///
/// The core has the authoritative state. This object keeps an index of messages with files, so that a mount
/// can list them at once. Events update the index. Because events can be lost, the newest message of each
/// chat is compared after every connection and some seconds after the core wrote to its database. The whole
/// history is read once, in the background. Without changes there are no requests.
///
/// This type only composes its services.
public final class OfficialCore: ChatCore, ContactForwarding {
    private struct State {
        /// The profile, while the core is not yet started because its identity is unknown.
        var unstarted: Session.FoundProfile?
        var tasks: [Task<Void, Never>] = []
    }

    public let profile: Profile
    public let limits = ChatLimits(maxFileSize: FilePolicy.xftpLimit)
    public var stagingFolder: String { staging.path }
    /// The profile's own folder, also for other data beside the index. Absolute.
    public let folder: String
    /// Relays that the user configured in the core or approved here.
    public let trust: OfficialRelayTrust
    /// The rule for files to receive automatically.
    public let arrivals: ArrivalRule

    let index: IndexStore
    let reconciliation: Reconciliation
    let readReceipts: ReadReceipts
    private let transport: any OfficialTransport
    let settings: OfficialCoreSettings
    let connection: CoreConnection
    private let suspension: CoreSuspension
    private let staging: StagingFolder
    let recent = RecentEvents()
    private let early = EarlyEvents()
    let standaloneFiles: StandaloneFiles
    let receiver: FileReceiver
    let claims: FileClaims
    let sender: MessageSender
    let texts: TextSender
    let removals: Removals
    let management: ChatManagement
    private let people: ConnectionMaking
    public var contacts: any ContactKeeping { people }
    private let deliveries: PendingDeliveries
    private let intake: EventIntake
    private let historyReader: HistoryReader
    private let history: WorkSignal
    private let lock: ProcessLock
    private let state: Lock<State>

    private init(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings,
        _ found: Session.FoundProfile, lock: ProcessLock
    ) throws {
        self.transport = transport
        self.settings = settings
        self.lock = lock
        profile = found.profile
        state = Lock(State(unstarted: found))
        folder = settings.folder + "/profile-\(profile.id)"
        _ = try PrivateFolder(folder, purpose: OfficialCoreSettings.profilePurpose)
        arrivals = settings.arrivals(folder)
        history = WorkSignal()
        staging = try StagingFolder(settings.filesFolder + "/outbox")
        try staging.takeIn("\(folder)/\(OfficialIndexCopy.stagingFolder)")
        index = try IndexStore(
            path: folder + "/index.sqlite", key: settings.key, owner: profile,
            filesFolder: settings.filesFolder,
            staging: staging, history: history, recent: recent, isRemote: settings.phone != nil)
        trust = try OfficialRelayTrust(folder: settings.folder, key: settings.key)
        let held = HeldCommands()
        connection = CoreConnection(
            transport, held,
            identity: CoreIdentity(
                transport, index, of: profile, isPhone: settings.phone != nil,
                timeout: settings.connectTimeout))
        suspension = CoreSuspension(transport, held, settings)
        let descriptions = Descriptions(connection, trust, hasProxy: settings.hasProxy)
        standaloneFiles = StandaloneFiles(connection, of: profile)
        receiver = FileReceiver(
            connection: connection, index: index, recent: recent, trust: trust, settings: settings)
        claims = FileClaims(
            connection: connection, index: index, receiver: receiver, descriptions: descriptions,
            staging: staging, filesFolder: settings.filesFolder,
            remote: RemoteCopies(
                transport.remoteFiles, connection, index, staging, user: found.profile.id, settings.phone))
        sender = MessageSender(connection, index, recent, staging, settings, transport.remoteFiles)
        texts = TextSender(connection, index, recent)
        removals = Removals(connection: connection, index: index, recent: recent)
        deliveries = PendingDeliveries(connection)
        management = ChatManagement(
            connection: connection, index: index, recent: recent, deliveries: deliveries)
        people = ConnectionMaking(connection, index, user: profile.id)
        readReceipts = ReadReceipts(connection, index)
        intake = EventIntake(
            index: index, recent: recent, descriptions: descriptions, standaloneFiles: standaloneFiles,
            arrivals: arrivals, receives: settings.phone?.receiveLimit != 0)
        historyReader = HistoryReader(
            connection: connection, index: index, recent: recent, pageSize: settings.pageSize)
        reconciliation = Reconciliation(
            connection, index, recent, descriptions, trust, history, of: profile, settings)
    }

    // MARK: - Opening and closing

    /// Connects to the core and opens its profile.
    ///
    /// - Throws: `.profileInUse` with the process that uses it; `.noSuchProfile`; `.file(.unreachable)` if
    ///   the core does not answer or is another one; errors of the core.
    public static func open(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(ChatError) -> OfficialCore {
        let events = transport.events()
        let lock = try await blocking.run { try settings.takeFolder() }
        var iterator = events.makeAsyncIterator()
        if let profile = settings.phone?.profile {
            return try await openAway(profile, transport, settings, lock, Remaining(iterator))
        }
        let early = try await Session.firstConnection(
            &iterator, timeout: settings.phone?.pairingTimeout ?? settings.connectTimeout)
        let found = try await Session.find(transport, settings)
        if let phone = settings.phone { try await blocking.run { try phone.note(found.profile) } }
        let core = try await blocking.run { try OfficialCore(transport, settings, found, lock: lock) }
        let known = try await core.chats()
        do throws(OfficialCoreError) {
            try await core.connection.verify()
        } catch {
            // Shows the index until the core answers.
            guard error.code == .unidentified, !known.isEmpty else { throw error.chatError }
            core.begin(early, Remaining(iterator), isIdentified: false)
            return core
        }
        do throws(OfficialCoreError) { try await core.start() } catch { throw error.chatError }
        if settings.phone != nil {
            if known.isEmpty { try await core.reconciliation.takeFirstChats() }
        } else if settings.comparesFirst || known.isEmpty {
            try await core.reconciliation.takeChats()
        }
        try await core.reconciliation.takeNetwork()
        core.begin(early, Remaining(iterator), isIdentified: true)
        return core
    }

    /// Opens the index of a phone at once, connected or not.
    private static func openAway(
        _ profile: Profile, _ transport: any OfficialTransport, _ settings: OfficialCoreSettings,
        _ lock: ProcessLock, _ events: Remaining
    ) async throws(ChatError) -> OfficialCore {
        let found = Session.FoundProfile(profile: profile, isActive: true)
        let core = try await blocking.run { try OfficialCore(transport, settings, found, lock: lock) }
        core.index.events.tell(.coreUnreachable(PhoneErrors.away.sentence))
        core.begin([], events, isIdentified: false)
        return core
    }

    /// The rest of the event stream, to be moved into the listening task.
    private struct Remaining: @unchecked Sendable {
        // Safe: created by `open`, which no longer uses it, and used by one task.
        var iterator: AsyncStream<TransportEvent>.Iterator
        init(_ iterator: AsyncStream<TransportEvent>.Iterator) { self.iterator = iterator }
    }

    /// Sets up the core; at the first time also starts it.
    private func start() async throws(OfficialCoreError) {
        guard let found = state.withLock({ $0.unstarted }) else {
            return try await Session.setUp(transport, settings)
        }
        try await Session.start(found, transport, settings)
        state.withLock { $0.unstarted = nil }
    }

    /// Starts listening, comparing and reading the history.
    private func begin(_ early: [APIEvent], _ events: Remaining, isIdentified: Bool) {
        if isIdentified { _ = connection.setConnected(true) }
        let listening = Task { [weak self] in
            for event in early { await self?.take(.event(event)) }
            if !isIdentified { await self?.take(.connected) }
            var events = events
            while let event = await events.iterator.next(isolation: nil), !Task.isCancelled {
                await self?.take(event)
            }
        }
        let comparing = Task { [reconciliation] in await reconciliation.run() }
        let reading = Task { [historyReader, history, reconciliation] in
            await historyReader.run(history.stream) { reconciliation.noteHistoryRead(hasRead: $0) }
        }
        state.withLock { $0.tasks = [listening, comparing, reading] }
        reconciliation.requestWhole()
        history.notify()
    }

    /// Suspends a core that ChatFS runs until `resume`; others continue. Commands that need the network wait
    /// meanwhile. Returns when the core is suspended.
    public func suspend() async { await suspension.suspend() }

    public func resume() async { await suspension.resume() }

    /// Announces the end, so that the next process waits for the profile.
    public func announceEnd() { lock.finish() }

    // Ends the tasks even without `shutDown`.
    deinit {
        history.finish()
        reconciliation.end()
    }

    /// Ends the connection to the core, a core that ChatFS runs, and all event streams.
    public func shutDown() async {
        lock.finish()
        let tasks = state.withLock { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        history.finish()
        reconciliation.end()
        suspension.end()
        // A core that continues to run delivers its messages itself.
        if settings.ownership != .attached { await deliveries.wait(limit: settings.deliveryTimeout) }
        await readReceipts.wait(limit: .seconds(2))
        _ = connection.setConnected(false)
        for task in tasks { task.cancel() }
        await transport.close()
        for task in tasks { await task.value }
        index.events.close()
        await blocking.attempt("empty the journal of the index") { [index] in try index.emptyJournal() }
        lock.release()
    }

    // MARK: - Events of the core

    private func take(_ event: TransportEvent) async {
        switch event {
        case .event(let event):
            if connection.isConnected { await take(event) } else { early.hold(event) }
        case .disconnected(let reason):
            early.noteLoss()
            guard connection.setConnected(false) else { return }
            // A phone is away most of the time.
            let line = "connection to the core lost: reason=\(reason)"
            if settings.phone == nil { log.notice(line) } else { log.information(line) }
            index.events.tell(.coreUnreachable(reason))
        case .connected:
            guard await isFormerCore() else { return early.drop() }
            do throws(OfficialCoreError) {
                try await start()
            } catch {
                // A lost connection is logged as such.
                if error.code != .disconnected {
                    log.warning("core did not accept its settings: error=\(error.sentence)")
                }
            }
            // First, because downloads depend on the network settings.
            await reconciliation.takeNetworkAnew()
            if !connection.setConnected(true) { index.events.tell(.coreReachable) }
            for event in early.take() { await take(event) }
            reconciliation.requestWhole()
            history.notify()
            readReceipts.reportOpened()
            // In its own task, because it waits for an event.
            Task { [suspension] in await suspension.noteConnection() }
        }
    }

    /// Returns true if the core is the same as before. Repeats the query while an unidentified core is
    /// connected.
    private func isFormerCore() async -> Bool {
        var told: String?
        while !Task.isCancelled {
            do throws(OfficialCoreError) {
                try await connection.verify()
                return true
            } catch {
                // Without a connection, a new one follows.
                guard error.code == .otherDatabase || error.code == .unidentified else { return false }
                if told != error.sentence {
                    let line = "core not verified: error=\(error.sentence)"
                    if error.code == .otherDatabase, let phone = settings.phone {
                        phone.refuse(error.sentence)
                        log.information(line)
                    } else {
                        log.warning(line)
                    }
                    index.events.tell(.coreUnreachable(error.sentence, cause: error))
                }
                if error.code == .otherDatabase {
                    connection.reject(for: error)
                    return false
                }
                told = error.sentence
                // A core may refuse at once.
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
        return false
    }

    private func take(_ event: APIEvent) async {
        guard event.userID == nil || event.userID == profile.id else { return }
        if event.kind == .chatSuspended { return suspension.noteSuspended() }
        do throws(ChatError) {
            let wanted = try await blocking.run { [intake] in try intake.take(event.kind) }
            for file in wanted { await receiver.receiveAtArrival(file) }
            // If one event came here, another may have gone to another client. A phone has no other.
            if settings.phone == nil { reconciliation.plan() }
        } catch {
            // The next comparison finds the change.
            log.warning("event not stored, comparing again: error=\(error.sentence)")
            reconciliation.requestWhole()
        }
    }
}
