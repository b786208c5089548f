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
    private let settings: OfficialCoreSettings
    private let connection: CoreConnection
    private let suspension: CoreSuspension
    private let staging: StagingFolder
    private let recent = RecentEvents()
    private let early = EarlyEvents()
    private let standaloneFiles: StandaloneFiles
    private let receiver: FileReceiver
    private let claims: FileClaims
    private let sender: MessageSender
    private let texts: TextSender
    private let removals: Removals
    private let management: ChatManagement
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
                    index.events.tell(.coreUnreachable(error.sentence))
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
