import Base
import ChatCore
import Cryptography
import Glibc
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
/// What becomes of a draft its `DraftMachine` decides; this makes drafts, names them, and starts and ends what acts:
/// `StagingQueue` and `DeliveryWorker`. What a method does to files and journal it does before it returns: it
/// blocks, as those of `Draft` do.
public final class Outbox: Sendable {
    /// What the marker of its folder says.
    public static let purpose = "chatfs outbox"

    private struct State {
        /// What the journal held at the start, until `start`.
        var found: [Draft] = []
        /// Nothing new is made; what is there is finished.
        var isShuttingDown = false
    }

    let context: DraftContext
    let staging: StagingQueue
    let core: any ChatCore
    private let worker: DeliveryWorker
    private let clock: any OutboxClock
    private let random: any RandomSource
    let directory = DraftDirectory()
    private let state = Lock(State())
    /// Orders creating, renaming and removing. Locked before the mutexes of drafts.
    let naming = BlockingMutex(rank: .draftNames)

    /// Opens the journal and reads it; sends nothing before `start`.
    /// - Parameters:
    ///   - folder: the outbox's own, inside the profile's data; one process at a time.
    ///   - key: with which its journal is encrypted, and with it the keys of drafts; nil: not.
    ///   - quietTime: how long after the last writer's close nothing may be opened.
    ///   - writers: what programs write files for.
    ///   - completion: asked for each message before it is handed over.
    /// - Throws: `wrongVersion`, `noSpace`, `storage`.
    public convenience init(
        core: any ChatCore, folder: PrivateFolder, key: SecretBytes? = nil, quietTime: Duration,
        writers: WriterPolicy = WriterPolicy(), completion: @escaping MessageCompletion = { $0 },
        clock: any OutboxClock = SystemOutboxClock(), wallClock: any WallClock = SystemWallClock()
    ) throws(OutboxError) {
        // Where it cannot be read, every boot is taken for the same.
        try self.init(
            core: core, folder: folder, key: key, quietTime: quietTime, writers: writers,
            completion: completion, clock: clock, wallClock: wallClock, boot: ProcessInformation.boot() ?? "",
            step: { _ in })
    }

    init(
        core: any ChatCore, folder: PrivateFolder, key: SecretBytes? = nil, quietTime: Duration,
        writers: WriterPolicy = WriterPolicy(), completion: @escaping MessageCompletion = { $0 },
        clock: any OutboxClock,
        wallClock: any WallClock, boot: String, earlyCopies: EarlyCopySlots = EarlyCopySlots(),
        step: @escaping @Sendable (OutboxStep) -> Void
    ) throws(OutboxError) {
        let random = SystemRandomSource()
        let context = try described {
            let journal = try Journal(
                path: folder.path + "/journal.sqlite", key: key, reservesSpace: true, random: random)
            return DraftContext(
                journal: journal, spool: try Spool(in: folder),
                staging: try StagingFolder(path: core.stagingFolder, mark: journal.mark, random: random),
                quietTime: QuietTime(length: quietTime, clock: clock),
                deliveries: DeliveryQueue(after: try journal.lastSequence()), clock: wallClock,
                uptime: Uptime(after: try journal.uptime(), clock: clock),
                limits: core.limits, boot: boot, earlyCopies: earlyCopies,
                writers: WriterRegistry(writers), step: step)
        }
        self.core = core
        self.context = context
        self.clock = clock
        self.random = random
        let staging = StagingQueue(
            core: core, context: context, check: CompletionCheck(directory: directory), clock: clock)
        self.staging = staging
        worker = DeliveryWorker(core: core, context: context, clock: clock, completion: completion)
        worker.start()
        // The quiet time is the drafts', whose context the staging queue needs.
        context.quietTime.whenQuiet { [weak staging] in staging?.add($0) }
        let found = try described { try JournalReplay(context: context).drafts() }
        // What was removed is only to be taken back.
        for draft in found where !draft.machine.isRemoved {
            let snapshot = draft.snapshot
            directory.add(draft, named: snapshot.state == .recovered ? nil : snapshot.name)
        }
        state.withLock { $0.found = found }
    }

    // MARK: - What is there

    /// All that the outbox knows of, by age: also what is `sent` and not acknowledged, and what was
    /// `recovered`. From memory.
    public func drafts() -> [Draft] { directory.drafts }

    /// The one with this number, as far as it is known.
    public func draft(_ id: Int64) -> Draft? { directory.draft(id) }

    /// Each call opens a stream of its own, with everything from then on.
    public func changes() -> AsyncStream<OutboxChange> { context.changes.subscribe() }

    /// Bytes that a new draft can have at present, 0 when that is not known. Sending needs the size of
    /// a draft twice for a moment, so this is half of what the disk has. Blocks shortly.
    public func availableBytes() -> UInt64 { ((try? context.spool.availableBytes()) ?? 0) / 2 }

    /// How many files wait to be handed over: after `shutDown` those that the next mount sends.
    public var waiting: Int { drafts().count { $0.machine.isWaiting } }

    /// The same of an outbox that no process has open, in its folder. Blocks.
    /// - Throws: `wrongVersion`, `noSpace`, `storage`.
    public static func waiting(inFolder path: String, key: SecretBytes? = nil) throws(OutboxError) -> Int {
        try described {
            let journal = try Journal(path: path + "/journal.sqlite", key: key, random: SystemRandomSource())
            defer { journal.close() }
            return try journal.entries().count { DraftMachine(restoring: $0.record, $0.state).isWaiting }
        }
    }

    // MARK: - Names

    /// Makes an empty draft, opened for writing once: its maker closes `DraftOpening.ofItsMaker`.
    /// - Parameter name: the exact bytes its writer used: 1 to 255, valid UTF-8 without `/` and NUL.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `shuttingDown`, `storage`.
    public func create(name: [UInt8], in chat: ChatReference) throws(OutboxError) -> Draft {
        try DraftName.requireValid(name)
        return try make(name, in: chat)
    }

    /// - Parameter name: valid, or a path of parts.
    func make(_ name: [UInt8], in chat: ChatReference) throws(OutboxError) -> Draft {
        try naming.withLock { () throws(OutboxError) in
            if state.withLock({ $0.isShuttingDown }) { throw OutboxError.leaving }
            if let other = directory.draft(named: name, in: chat), other.state != .sent {
                throw Self.nameTaken
            }
            var record = DraftRecord(
                chat: chat, name: name, spool: Hexadecimal.encode(random.bytes(16)), key: random.bytes(32),
                message: Hexadecimal.encode(random.bytes(16)), modified: context.clock.now(),
                touched: context.uptime.seconds)
            let file = try described {
                let file = try context.spool.create(record.spool, key: record.key)
                do {
                    record.id = try context.journal.insert(record)
                } catch {
                    context.spool.remove(record.spool)
                    throw error
                }
                return file
            }
            let draft = Draft(creating: record, file: file, context: context)
            directory.add(draft, named: name)
            context.step(.created)
            return draft
        }
    }

    static var nameTaken: OutboxError {
        OutboxError(.nameTaken, "A file of this name is being sent in this chat already.")
    }

    /// Gives a draft another name in its chat, a part of a folder another path; an existing draft of that name is replaced and removed.
    /// A final name sends what a temporary one held back, after the quiet time.
    /// - Parameter thread: who renames, 0 when the kernel does not say.
    /// - Throws: `notPermitted` unless both are drafts still, `invalidName`, `nameTooLong`, `noSpace`, `storage`.
    public func rename(_ draft: Draft, to name: [UInt8], by thread: pid_t = 0) throws(OutboxError) {
        if let path = PartPath(name) { try path.require() } else { try DraftName.requireValid(name) }
        if let target = directory.draft(named: name, in: draft.chat), draft.isLessDurable(than: target) {
            // A long one before others have to wait for their names.
            try draft.synchronise()
        }
        try naming.withLock { () throws(OutboxError) in
            let target = directory.draft(named: name, in: draft.chat)
            if target === draft { return }
            let involved = [draft, target].compactMap { $0 }.sorted { $0.id < $1.id }
            for one in involved { one.mutex.lock() }
            defer { for one in involved.reversed() { one.mutex.unlock() } }
            let old = draft.snapshot.name
            var prepared: [PreparedTransition] = []
            // It takes the place of what it replaces in the same transaction.
            if let target {
                prepared.append(try target.prepare(.replaced))
                // What survives a power cut is not given up for what does not.
                if draft.isLessDurable(than: target) { try draft.synchroniseLocked() }
            }
            prepared.append(try draft.prepare(.renamed(name)))
            try context.perform(prepared)
            draft.noteRename(by: thread)
            directory.rename(draft, from: old, to: name, replacing: target)
        }
    }

    /// Removes a draft, or takes a queued or sending one back: nothing is sent, and what the core was just taking, or may
    /// have taken at an earlier attempt, is deleted there after this has returned, by the next process if this one ends.
    /// - Parameter evenAtTheCore: also while the core is taking it.
    /// - Throws: `notPermitted` for one that is sent: it is the core's to delete; `noSpace`, `storage`.
    public func remove(_ draft: Draft, evenAtTheCore: Bool = true) throws(OutboxError) {
        try naming.withLock { () throws(OutboxError) in
            try draft.mutex.withLock { () throws(OutboxError) in
                guard evenAtTheCore || draft.state != .sending else { throw OutboxError.immutable }
                try context.perform([draft.prepare(.removed)])
            }
            directory.remove(draft)
        }
        context.journal.reserveSpace()
        // The core is asked at once for what it may have.
        context.deliveries.notify([draft.chat])
    }

    /// Hands a draft over once more that the core refused, or of which it is not known whether the core has
    /// it: then the recipients may get it twice, so the user must have said so. So does one that is held back because
    /// it may be unfinished, as it is, after the quiet time. False when it is none of these.
    /// - Throws: `noSpace`, `storage`.
    public func retry(_ draft: Draft) throws(OutboxError) -> Bool {
        guard try draft.handle(.retryRequested) == .willRetry else { return false }
        context.deliveries.notify([draft.chat])
        return true
    }

    /// Sends what was recovered into the chat that it came from, as it is, after the quiet time. False when it is none
    /// of these.
    /// - Parameter name: a free one of its chat's folder.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `storage`.
    public func send(recovered draft: Draft, named name: [UInt8]) throws(OutboxError) -> Bool {
        guard draft.state == .recovered else { return false }
        try DraftName.requireValid(name)
        return try naming.withLock { () throws(OutboxError) in
            if let other = directory.draft(named: name, in: draft.chat), other !== draft {
                throw Self.nameTaken
            }
            guard draft.state == .recovered, try draft.handle(.returned(name)) == .willRetry else {
                return false
            }
            directory.addName(of: draft, name)
            return true
        }
    }

    /// Asked, by threads that may block, whether something that is no draft has a name in a chat's folder. Set once,
    /// before `start`.
    public func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool) {
        directory.look(with: isEntry)
    }

    /// The node of a sent draft has been noted as its item's: the outbox forgets it, with its bytes.
    /// - Throws: `noSpace`, `storage`.
    public func acknowledge(_ draft: Draft) throws(OutboxError) {
        if try draft.handle(.acknowledged) == .forgotten { directory.remove(draft) }
    }

    /// Makes it durable that what was sent is sent: before a message is deleted, by which the core would know a
    /// repetition after a power cut. Blocks.
    /// - Throws: `noSpace`, `storage`.
    public func synchronise() throws(OutboxError) { try described { try context.journal.synchronise() } }

    /// What the core refused for now is handed over at once: what stood in the way has passed.
    public func retryPostponed() { worker.retryPostponed() }

    /// A message that is no draft any more, with its preview.
    func completed(_ message: ComposedMessage) async throws(ChatError) -> ComposedMessage {
        try await worker.completed(message)
    }

    // MARK: - Start

    /// Begins to send: what the journal holds first. Returns at once. Who needs to see every change opens
    /// `changes` before.
    public func start() {
        ThreadPool.shared.submit { [self] in
            // Not what was made since: that has its writer.
            let found = state.withLock { state in
                defer { state.found = [] }
                return state.found
            }
            // All have their place before the first goes.
            for draft in found { draft.tell(.started) }
            context.deliveries.notify(Set(found.map(\.chat)))
            let sent = found.filter { $0.state == .sent }
            if !sent.isEmpty { Task { await self.announce(sent) } }
            removeAged()
        }
    }

    /// Sent by an earlier process that nobody told the file system about.
    private func announce(_ sent: [Draft]) async {
        for draft in sent {
            guard case .sent(let id) = draft.machine.phase else { continue }
            do throws(ChatError) {
                context.changes.send(.became(draft, try await core.item(id, in: draft.chat)))
            } catch  where [.noSuchItem, .noSuchChat].contains(error.code) {
                // Deleted since.
                await ThreadPool.shared.run { self.forget(draft) }
                context.changes.send(.removed(draft))
            } catch {
                context.log.warning("a sent file is announced at the next start: \(error.sentence)")
            }
        }
    }

    private func forget(_ draft: Draft) {
        do {
            try acknowledge(draft)
        } catch {
            context.log.warning(
                "could not forget a file whose message is gone: \(sentenceWithCauses(of: error))")
        }
    }

    // MARK: - What is left alone

    /// Recovers what was left alone for too long, and removes what is empty, now and every hour.
    private func removeAged() {
        saveUptime()
        for draft in drafts() {
            do {
                try removeIfAged(draft)
            } catch {
                context.log.warning("a draft that was left alone stays for another hour: \(error.sentence)")
            }
        }
        clock.call(after: Uptime.interval) { [weak self] in
            guard let self else { return }
            ThreadPool.shared.submit { self.removeAged() }
        }
    }

    private func saveUptime() {
        do {
            try context.journal.save(uptime: context.uptime.countUp())
        } catch {
            // Drafts stay a little longer.
            context.log.notice("the age of drafts could not be noted: \(Base.sentence(of: error))")
        }
    }

    private func removeIfAged(_ draft: Draft) throws(OutboxError) {
        // Most are not due: nobody waits for their mutex. Who is, is asked again under it.
        guard draft.machine.dueExpiry(at: context.uptime.seconds) != nil else { return }
        let change = try naming.withLock { () throws(OutboxError) -> OutboxChange? in
            guard case .expired(let expiry) = try draft.handle(.aged) else { return nil }
            switch expiry {
            case .removal:
                directory.remove(draft)
                return .removed(draft)
            case .recovery:
                directory.removeName(of: draft)
                return .recovered(draft)
            }
        }
        if let change { context.changes.send(change) }
    }

    // MARK: - End

    /// Queues closed drafts at once, without quiet time, and waits until all are handed over that can be
    /// at present; what the core refuses for now is sent at the next start. Drafts that still have a
    /// writer are sent after the next start if they are closed before the process ends, else recovered.
    public func shutDown() async {
        state.withLock { $0.isShuttingDown = true }
        context.quietTime.end()
        await staging.becomeIdle()
        await context.deliveries.becomeIdle()
        await ThreadPool.shared.run { self.saveUptime() }
        staging.close()
        context.changes.finish()
    }

    /// After `shutDown`, when everything it handed over has been acknowledged: closes the journal. Blocks.
    public func close() { context.journal.close() }
}
