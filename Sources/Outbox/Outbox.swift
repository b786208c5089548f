import Base
import ChatCore
import Cryptography
import Posix
import Store

/// Everything on its way out: drafts, the journal that keeps them over a crash, and the sending, once.
///
///     let outbox = try Outbox(core: core, folder: folder, quietTime: .seconds(1))
///     let changes = outbox.changes()
///     outbox.start()
///     let draft = try outbox.create(name: Array("report.pdf".utf8), in: chat)   // open for writing
///     try draft.write(bytes, at: 0, through: .ofItsMaker, by: thread)
///     draft.closed(.ofItsMaker)        // sent a second later
///
/// What a method does to files and journal it does before it returns: it blocks, as those of `Draft` do.
public final class Outbox: Sendable {
    struct NameInChat: Hashable {
        var chat: ChatReference
        var name: [UInt8]
    }

    struct State {
        var drafts: [Int64: Draft] = [:]
        /// What has a name in a chat's folder: neither sent nor recovered nor removed.
        var names: [NameInChat: Draft] = [:]
        /// What the journal held at the start, until `start`.
        var found: [Draft] = []
        /// Closed and quiet, waits to be staged; how many lanes stage at present.
        var toStage: [Draft] = []
        var lanes = 0
        var whenStaged: [CheckedContinuation<Void, Never>] = []
        /// Nothing new is made; what is there is finished.
        var isShuttingDown = false
        /// Nothing is sent any longer.
        var isClosed = false
    }

    let core: any ChatCore
    let room: Workroom
    let stager: Stager
    let courier: Courier
    let clock: any OutboxClock
    let random: any RandomSource
    let step: @Sendable (OutboxStep) -> Void
    let state = Lock(State())
    /// Creating, renaming and removing take turns.
    let naming = Turn()

    /// Opens the journal and reads it; sends nothing before `start`.
    /// - Parameters:
    ///   - folder: the outbox's own, inside the profile's data; one process at a time.
    ///   - quietTime: how long after the last writer's close nothing may be opened.
    ///   - previews: asked for each message that is no plain file, before it is handed over.
    /// - Throws: `wrongVersion`, `noSpace`, `storage`.
    public convenience init(
        core: any ChatCore, folder: PrivateFolder, quietTime: Duration,
        previews: @escaping MessageCompletion = { $0 },
        clock: any OutboxClock = SystemOutboxClock(), wallClock: any WallClock = SystemWallClock()
    ) throws(OutboxError) {
        try self.init(
            core: core, folder: folder, quietTime: quietTime, previews: previews, clock: clock,
            wallClock: wallClock, boot: Workroom.currentBoot(), step: { _ in })
    }

    init(
        core: any ChatCore, folder: PrivateFolder, quietTime: Duration,
        previews: @escaping MessageCompletion = { $0 }, clock: any OutboxClock,
        wallClock: any WallClock, boot: String, followers: Followers = Followers(),
        step: @escaping @Sendable (OutboxStep) -> Void
    ) throws(OutboxError) {
        let random = SystemRandomSource()
        let room = try described {
            let journal = try Journal(path: folder.path + "/journal.sqlite", random: random)
            // The quiet time knows the outbox only once it is made.
            return Workroom(
                journal: journal, spool: try Spool(in: folder),
                staging: try StagingFolder(path: core.stagingFolder, mark: journal.mark, random: random),
                quiet: QuietTime(length: quietTime, clock: clock),
                order: SendingOrder(after: try journal.lastPlace()), clock: wallClock,
                seen: SeenTime(after: try journal.seen(), clock: clock),
                largestFile: core.limits.largestFile, boot: boot, followers: followers)
        }
        self.core = core
        self.room = room
        self.clock = clock
        self.random = random
        self.step = step
        stager = Stager(room: room, step: step)
        courier = Courier(core: core, room: room, clock: clock, previews: previews, step: step)
        courier.start()
        room.quiet.whenQuiet { [weak self] in self?.stage($0) }
        try described { try readJournal() }
    }

    // MARK: - What is there

    /// All that the outbox knows of, by age: also what is `sent` and not acknowledged, and what was
    /// `recovered`. From memory.
    public func drafts() -> [Draft] {
        state.withLock { $0.drafts.values.sorted { $0.id < $1.id } }
    }

    /// Each call opens a stream of its own, with everything from then on.
    public func changes() -> AsyncStream<OutboxChange> { room.news.stream() }

    /// Bytes that a new draft can have at present, 0 when that is not known. Sending needs the size of
    /// a draft twice for a moment, so this is half of what the disk has. Blocks shortly.
    public func availableBytes() -> UInt64 { ((try? room.spool.availableBytes()) ?? 0) / 2 }

    // MARK: - Names

    /// Makes an empty draft, opened for writing once: its maker closes `DraftOpening.ofItsMaker`.
    /// - Parameter name: the exact bytes its writer used: 1 to 255, valid UTF-8 without `/` and NUL.
    /// - Throws: `invalidName`, `nameTaken`, `noSpace`, `shuttingDown`, `storage`.
    public func create(name: [UInt8], in chat: ChatReference) throws(OutboxError) -> Draft {
        try Self.requireValid(name)
        return try naming.with { () throws(OutboxError) in
            let (isTaken, isShuttingDown) = state.withLock {
                (
                    $0.names[NameInChat(chat: chat, name: name)].map { $0.state != .sent } ?? false,
                    $0.isShuttingDown
                )
            }
            if isShuttingDown { throw OutboxError.leaving }
            if isTaken {
                throw OutboxError(.nameTaken, "A file of this name is being sent in this chat already.")
            }
            let now = room.clock.now()
            var entry = Journal.Entry(
                chat: chat, name: name, spool: Hexadecimal.encode(random.bytes(16)), key: random.bytes(32),
                message: Hexadecimal.encode(random.bytes(16)), modified: now, touched: room.seen.seconds
            )
            let file = try described {
                let file = try room.spool.create(entry.spool, key: entry.key)
                do {
                    entry.id = try room.journal.insert(entry)
                } catch {
                    room.spool.remove(entry.spool)
                    throw error
                }
                return file
            }
            let draft = Draft(entry, phase: .draft, room: room)
            draft.record.withLock { record in
                record.file = file
                _ = record.writers.open()
                record.following.isInOrder = true
            }
            state.withLock { state in
                state.drafts[draft.id] = draft
                state.names[NameInChat(chat: chat, name: name)] = draft
            }
            step(.created)
            return draft
        }
    }

    /// Gives a draft another name in its chat; an existing draft of that name is replaced and removed.
    /// A final name sends what a temporary one held back, after the quiet time.
    /// - Throws: `notPermitted` unless both are drafts still, `invalidName`, `storage`.
    public func rename(_ draft: Draft, to name: [UInt8]) throws(OutboxError) {
        try Self.requireValid(name)
        try naming.with { () throws(OutboxError) in
            let target = state.withLock { $0.names[NameInChat(chat: draft.chat, name: name)] }
            if target === draft { return }
            let involved = [draft, target].compactMap { $0 }.sorted { $0.id < $1.id }
            for one in involved { one.turn.take() }
            defer { for one in involved.reversed() { one.turn.giveBack() } }
            guard involved.allSatisfy({ $0.state == .draft }) else { throw OutboxError.immutable }
            let old = draft.snapshot.name
            try described { try draft.noteRenamed(to: name, replacing: target) }
            state.withLock { state in
                state.names[NameInChat(chat: draft.chat, name: old)] = nil
                state.names[NameInChat(chat: draft.chat, name: name)] = draft
                if let target { state.drafts[target.id] = nil }
            }
        }
    }

    /// Removes a draft, or takes a queued or sending one back: nothing is sent, and what the core was
    /// just taking is cancelled there. One that is sent is the core's to delete: `notPermitted`.
    public func remove(_ draft: Draft) throws(OutboxError) {
        try naming.with { () throws(OutboxError) in
            try draft.turn.with { () throws(OutboxError) in
                try described { try draft.noteRemoved() }
                forget(draft)
            }
        }
    }

    /// Hands a draft over once more that the core refused, or of which it is not known whether the core has
    /// it: then the recipients may get it twice, so the user must have said so. So does one whose writer was
    /// killed, as it is, after the quiet time. False when it is none of these.
    public func retry(_ draft: Draft) throws(OutboxError) -> Bool {
        if draft.state == .draft { return try draft.noteWantedAsItIs() }
        guard try draft.noteRetry() else { return false }
        courier.take([draft])
        return true
    }

    /// Makes it durable that what was sent is sent: before a message is deleted, by which the core would know a
    /// repetition after a power cut. Blocks.
    public func synchronise() throws(OutboxError) { try described { try room.journal.synchronise() } }

    /// The node of a sent draft has been noted as its item's: the outbox forgets it, with its bytes.
    public func acknowledge(_ draft: Draft) throws(OutboxError) {
        guard draft.state == .sent else { return }
        try described { try room.journal.apply(removing: [draft.id]) }
        let spool = draft.record.withLock { record in
            record.isGone = true
            return record.entry.spool
        }
        room.spool.remove(spool)
        forget(draft)
    }

    func forget(_ draft: Draft) {
        let name = NameInChat(chat: draft.chat, name: draft.snapshot.name)
        state.withLock { state in
            if state.names[name] === draft { state.names[name] = nil }
            state.drafts[draft.id] = nil
        }
    }

    static func requireValid(_ name: [UInt8]) throws(OutboxError) {
        guard name.count <= SafeFileName.longest else {
            throw OutboxError(.nameTooLong, "A file name can have at most \(SafeFileName.longest) bytes.")
        }
        guard !name.isEmpty, !name.contains(0), !name.contains(UInt8(ascii: "/")), name != Array(".".utf8),
            name != Array("..".utf8), String(validating: name, as: UTF8.self) != nil
        else { throw OutboxError(.invalidName, "A file name must be valid UTF-8.") }
    }
}
