import Base
import ChatCore
import Posix

/// What one profile sees of the database, and how its changes are told. Whoever has a `ProfileStore` has the profile:
/// it holds the lock that keeps other processes out. All calls block.
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
    ///   - arrivals: says what is received without being asked for.
    ///   - progress: how far running transfers are.
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

    /// Says that the profile will be free soon: who wants it waits instead of being refused.
    func announceEnd() { lock.finish() }

    /// Lets the profile go.
    func close() {
        events.close()
        tryToEmptyJournal()
        lock.release()
    }

    /// Reads from one snapshot of the store.
    func read<Result>(_ body: (ProfileTables) throws -> Result) throws -> Result {
        try directory.read { try body($0.tables(of: profile.id, context)) }
    }

    /// Changes the store, then tells the listeners of this process and wakes the others.
    @discardableResult
    func commit<Result>(_ body: (ProfileChange) throws -> Result) throws -> Result {
        try events.publish { reserve in
            var change: ProfileChange?
            let result = try directory.change { tables in
                reserve()
                let begun = ProfileChange(
                    tables.tables(of: profile.id, context), of: profile.id, arrivals, at: clock.now())
                change = begun
                let result = try body(begun)
                try begun.tellGrownLogs()
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

    /// - Parameter listener: called whenever there may be something for the agent.
    func onOutgoing(_ listener: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.outgoing = listener }
    }

    /// - Parameter listener: called whenever there may be a message whose time will be over.
    func onDisappearing(_ listener: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.disappearing = listener }
    }

    func noteOutgoing() { listeners.withLock { $0.outgoing }?() }

    /// What was deleted is gone from the journal too; mostly, for it cannot be while another process reads. Whoever
    /// empties it next does it for all.
    func tryToEmptyJournal() {
        do {
            try directory.emptyJournal()
        } catch {
            log.debug("the journal was not emptied: \(sentenceWithCauses(of: error))")
        }
    }

    /// To be called before files are removed because no row names them: a row of a process that was killed while it
    /// committed could come back with a power cut.
    func commitOverUnfinished() throws { try directory.commitOverUnfinished() }

    /// Whether the calling thread is inside a transaction, where nothing slow may be done.
    var isInTransaction: Bool { directory.isInTransaction }

    private var context: ItemTable.FileContext {
        ItemTable.FileContext(filesPath: folders.filesPath, progress: progress())
    }
}

/// A change of the store under way: what its transaction works with, and what follows when it has
/// been committed.
final class ProfileChange {
    let tables: ProfileTables
    let profile: Int64
    let arrivals: ArrivalRule
    /// When it began.
    let time: Timestamp
    /// The same by the clock of the database, which nobody sets.
    var elapsed: ElapsedTime { tables.directory.elapsed }
    private var grownLogs: [Int64] = []
    private(set) var events: [ChatEvent] = []
    /// Entries were posted for other processes.
    private(set) var concernsOthers = false
    /// Something waits for the agent.
    private(set) var hasOutgoing = false
    /// Something disappears at a time that nobody looks for yet.
    private(set) var hasDisappearing = false
    /// CryptoFiles, by their names in the files folder, that no row names any more.
    private(set) var abandonedFiles: [String] = []

    fileprivate init(
        _ tables: ProfileTables, of profile: Int64, _ arrivals: ArrivalRule, at time: Timestamp
    ) {
        self.tables = tables
        self.profile = profile
        self.arrivals = arrivals
        self.time = time
    }

    /// For the listeners of this process.
    func tell(_ event: ChatEvent) { events.append(event) }

    /// Tells an event about a file's item as it is now; nothing when it has none.
    func tell(_ event: (ChatItem) -> ChatEvent, of file: FileID) throws {
        if let item = try tables.items.item(of: file) { tell(event(item)) }
    }

    /// For the process of another profile.
    func post(_ entry: InboxEntry, to side: ChatSide) throws {
        try tables.inbox.post(entry, to: side)
        concernsOthers = true
    }

    /// Has this process store the content of small files that has come into their rows.
    func haveContentTakenIn() { concernsOthers = true }

    // MARK: - Logs of chats

    /// Adds a line to the log of one profile's side of a chat.
    func write(_ line: MessageLine, to side: ChatSide, request: String? = nil) throws {
        try tables.messageLog.append(line, to: side.chat, at: time, request: request)
        noteDisappearing(at: line.disappears)
        if side.profile == profile { noteLogGrew(in: side.chat) } else { try post(.messageLogGrew, to: side) }
    }

    /// Takes the words of a message out of its chat's log: its time is over.
    func blank(_ text: MessageLogTable.Text) throws {
        try tables.messageLog.blank(text, at: time)
        try tables.sharedMessages.forget(text.id, by: text.author, in: text.chat)
        noteLogGrew(in: text.chat)
    }

    /// To be called of each message that has a time.
    func noteDisappearing(at time: Timestamp?) { if time != nil { hasDisappearing = true } }

    /// To be called when nobody waits any more for a message that tells of a file.
    func noteAnnounced(_ file: FileID) throws {
        if try tables.uploads.noteAnnounced(file) { try beginTime(of: file) }
    }

    /// To be called when a file has been sent, or will not be: the time of its message begins.
    func beginTime(of file: FileID) throws {
        guard let item = try tables.items.item(of: file)?.id,
            try tables.items.beginTime(of: item, at: time)
        else { return }
        (hasDisappearing, concernsOthers) = (true, true)
    }

    /// What the profile is called now.
    var ownName: String {
        get throws { try tables.directory.profiles.name(of: profile) ?? "" }
    }

    func noteLogGrew(in chat: Int64) {
        if !grownLogs.contains(chat) { grownLogs.append(chat) }
    }

    fileprivate func tellGrownLogs() throws {
        for id in grownLogs {
            guard let chat = try tables.chats.chat(id, of: profile),
                let log = try tables.messageLog.log(of: id)
            else { continue }
            tell(.messageLogGrew(chat.reference, log))
        }
    }

    /// Has the agent send it after the commit.
    func send(_ message: OutgoingMessage) throws {
        try tables.outgoing.add(message)
        hasOutgoing = true
    }

    /// Has the agent do, after the commit, what the tables say.
    func haveAgentWork() { hasOutgoing = true }

    /// Has those who hold these chats look at them again.
    func announce(_ sides: [ChatSide]) throws {
        try tables.directory.announce(sides)
        concernsOthers = true
    }

    func abandon(_ storedName: String?) {
        if let storedName { abandonedFiles.append(storedName) }
    }

    /// Sets the status of a file if it has one of `expected`. False when it has not.
    @discardableResult
    func setStatus(
        _ status: StoredFileStatus, of file: FileID, from expected: [StoredFileStatus],
        problem: FileProblem? = nil
    ) throws -> Bool {
        try tables.files.setStatus(status, of: file, from: expected, problem: problem)
    }
}
