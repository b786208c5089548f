import Base
import ChatCore
import Posix

/// One profile's view of the database; publishes its changes. Holds the profile's lock, which keeps other
/// processes out. Calls block, except asynchronous ones.
final class ProfileStore: Sendable {
    let profile: Profile
    let clock: any WallClock
    let folders: ProfileFolders
    let events: EventHub
    let arrivals: ArrivalRule
    private let directory: DirectoryStore
    private let signal: ChangeSignal
    private let progress: @Sendable () -> [FileID: TransferProgress]
    private let lock: ProcessLock
    private let listeners = Lock(ChangeListeners())

    private struct ChangeListeners {
        var outgoing: (@Sendable () -> Void)?
        var disappearing: (@Sendable () -> Void)?
    }

    /// - Parameters:
    ///   - arrivals: decides which files are received automatically.
    ///   - progress: returns the progress of running transfers.
    init(
        _ profile: Profile, in directory: DataDirectory, folders: ProfileFolders, lock: ProcessLock,
        arrivals: ArrivalRule = ArrivalRule(), progress: @escaping @Sendable () -> [FileID: TransferProgress]
    ) {
        self.profile = profile
        self.folders = folders
        self.lock = lock
        self.arrivals = arrivals
        self.progress = progress
        clock = directory.clock
        self.directory = directory.store
        signal = directory.signal
        events = EventHub()
    }

    /// Announces that the profile will soon be free, so that other processes wait for it.
    func announceEnd() { lock.finish() }

    /// Releases the profile and the listeners.
    func close() {
        events.close()
        listeners.withLock { $0 = ChangeListeners() }
        tryToEmptyJournal()
        lock.release()
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (ProfileTables) throws -> Result) throws -> Result {
        try directory.read { try body($0.tables(of: profile.id, context)) }
    }

    /// Reads from one snapshot, on the threads for blocking work.
    /// - Throws: The mapped error of `body`.
    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (ProfileTables) throws -> Result
    ) async throws(ChatError) -> Result {
        try await blocking.run { [self] in try read(body) }
    }

    /// As `commit`, on the threads for blocking work.
    /// - Throws: The mapped error of `body`.
    @discardableResult
    func committing<Result: Sendable>(
        _ body: @escaping @Sendable (ProfileChange) throws -> Result
    ) async throws(ChatError) -> Result {
        try await blocking.run { [self] in try commit(body) }
    }

    /// Runs a transaction, then sends its events to this process's listeners and signals other processes.
    /// - Parameter frees: true for a removal, which a full disk does not refuse; `body` may then run twice.
    @discardableResult
    func commit<Result>(
        frees: Bool = false, _ body: (ProfileChange) throws -> Result
    ) throws -> Result {
        try events.publish { reserve in
            var change: ProfileChange?
            let result = try directory.change(frees: frees) { tables in
                reserve()
                let begun = ProfileChange(
                    tables.tables(of: profile.id, context), of: profile.id, arrivals, at: clock.now())
                change = begun
                let result = try body(begun)
                try begun.reportGrownLogs()
                return result
            }
            guard let change else { return (result, []) }
            for name in change.abandonedFiles { folders.remove(name) }
            if change.concernsOthers { signal.notify() }
            if change.hasOutgoing { noteOutgoing() }
            if change.hasDisappearing { listeners.withLock { $0.disappearing }?() }
            return (result, change.events)
        }
    }

    /// - Parameter listener: called when there may be work for the agent.
    func onOutgoing(_ listener: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.outgoing = listener }
    }

    /// - Parameter listener: called when there may be new expiring messages.
    func onDisappearing(_ listener: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.disappearing = listener }
    }

    func noteOutgoing() { listeners.withLock { $0.outgoing }?() }

    /// Removes deleted data from the journal. Fails while another process reads; the next attempt of any
    /// process succeeds.
    func tryToEmptyJournal() {
        do {
            try directory.emptyJournal()
        } catch {
            log.debug("journal not emptied: error=\(sentenceWithCauses(of: error))")
        }
    }

    /// Call before unlinking files without rows: after a power cut, a killed process's last commit could
    /// reappear.
    func commitOverUnfinished() throws { try directory.commitOverUnfinished() }

    /// Whether the calling thread is inside a transaction, where slow work is forbidden.
    var isInTransaction: Bool { directory.isInTransaction }

    private var context: ItemTable.FileContext {
        ItemTable.FileContext(filesPath: folders.filesPath, progress: progress())
    }
}

/// A transaction under way, with the follow-up work after its commit.
final class ProfileChange {
    let tables: ProfileTables
    let profile: Int64
    let arrivals: ArrivalRule
    /// Start of the transaction.
    let time: Timestamp
    /// The same by the database's clock, which users cannot set.
    var elapsed: ElapsedTime { tables.directory.elapsed }
    private var grownLogs: [Int64] = []
    private(set) var events: [ChatEvent] = []
    /// Whether entries for other processes were posted.
    private(set) var concernsOthers = false
    /// Whether there is work for the agent.
    private(set) var hasOutgoing = false
    /// Whether there are new expiring messages.
    private(set) var hasDisappearing = false
    /// CryptoFiles to unlink, by name in the files folder.
    private(set) var abandonedFiles: [String] = []

    fileprivate init(
        _ tables: ProfileTables, of profile: Int64, _ arrivals: ArrivalRule, at time: Timestamp
    ) {
        self.tables = tables
        self.profile = profile
        self.arrivals = arrivals
        self.time = time
    }

    /// Publishes an event to this process's listeners.
    func tell(_ event: ChatEvent) { events.append(event) }

    /// Publishes the change of a file's item, if it has one.
    func tell(_ cause: ItemChange, of file: FileID) throws {
        if let item = try tables.items.item(of: file) { tell(.itemChanged(item, cause)) }
    }

    /// Posts an entry for another profile's process.
    func post(_ entry: InboxEntry, to side: ChatSide) throws {
        try tables.inbox.post(entry, to: side)
        concernsOthers = true
    }

    /// Makes this process store inline content from rows.
    func scheduleInlineContent() { concernsOthers = true }

    // MARK: - Chat logs

    /// Appends a line to one profile's log of a chat.
    func write(_ line: MessageLine, to side: ChatSide, request: String? = nil) throws {
        try tables.messageLog.append(line, to: side.chat, at: time, request: request)
        noteDisappearing(at: line.disappears)
        if side.profile == profile { noteLogGrew(in: side.chat) } else { try post(.messageLogGrew, to: side) }
    }

    /// Blanks an expired message in its chat's log.
    func blank(_ text: MessageLogTable.Text) throws {
        try tables.messageLog.blank(text, at: time)
        try tables.sharedMessages.forget(text.id, by: text.author, in: text.chat)
        noteLogGrew(in: text.chat)
        if let chat = try tables.chats.chat(text.chat, of: profile)?.reference {
            tell(.textsGone([TextReference(text.id.text, by: text.member, in: chat)]))
        }
    }

    /// Call for each message that may expire.
    func noteDisappearing(at time: Timestamp?) { if time != nil { hasDisappearing = true } }

    /// Call when the file's announcement was sent or has failed.
    func noteAnnounced(_ file: FileID) throws {
        if try tables.uploads.noteAnnounced(file) { try startExpiry(of: file) }
    }

    /// Starts the time of a file's message, once the file was sent or given up.
    func startExpiry(of file: FileID) throws {
        guard let item = try tables.items.item(of: file)?.id,
            try tables.items.startExpiry(of: item, at: time)
        else { return }
        (hasDisappearing, concernsOthers) = (true, true)
    }

    /// Current name of the profile.
    var ownName: String {
        get throws { try tables.directory.profiles.name(of: profile) ?? "" }
    }

    func noteLogGrew(in chat: Int64) {
        if !grownLogs.contains(chat) { grownLogs.append(chat) }
    }

    fileprivate func reportGrownLogs() throws {
        for id in grownLogs {
            guard let chat = try tables.chats.chat(id, of: profile),
                let log = try tables.messageLog.log(of: id)
            else { continue }
            tell(.messageLogGrew(chat.reference, log))
        }
    }

    /// Passes a message to the agent after the commit.
    func send(_ message: OutgoingMessage) throws {
        try tables.outgoing.add(message)
        hasOutgoing = true
    }

    /// Makes the agent process the tables after the commit.
    func scheduleAgentWork() { hasOutgoing = true }

    /// Makes the holders of these sides reload them.
    func announce(_ sides: [ChatSide]) throws {
        try tables.directory.announce(sides)
        concernsOthers = true
    }

    func abandon(_ storedName: String?) {
        if let storedName { abandonedFiles.append(storedName) }
    }

    /// Sets a file's status if it is one of `expected`. Returns whether it was.
    @discardableResult
    func setStatus(
        _ status: StoredFileStatus, of file: FileID, from expected: [StoredFileStatus],
        problem: FileProblem? = nil
    ) throws -> Bool {
        try tables.files.setStatus(status, of: file, from: expected, problem: problem)
    }
}
