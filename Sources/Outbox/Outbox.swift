import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// Outgoing files: drafts, their journal, and delivery exactly once.
///
///     let outbox = try Outbox(core: core, folder: folder, quietTime: .seconds(1))
///     let changes = outbox.changes()
///     outbox.start()
///     let draft = try outbox.create(name: Array("report.pdf".utf8), in: chat)   // open for writing
///     try draft.write(bytes, at: 0, through: .ofItsMaker, by: thread)
///     draft.closed(.ofItsMaker)        // sent a second later
///
/// `DraftMachine` decides the state of a draft. This type creates, renames and removes drafts and owns
/// `StagingQueue` and `DeliveryWorker`. Thread-safe. Like those of `Draft`, methods finish their I/O before
/// they return, so they block.
public final class Outbox: Sendable {
    /// Text of the folder's marker file.
    public static let purpose = "chatfs outbox"

    private struct State {
        /// Drafts from the journal, until `start`.
        var found: [Draft] = []
        /// No drafts are created; existing ones are finished.
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
    /// Serialises creating, renaming and removing. Locked before the mutexes of drafts.
    let naming = BlockingMutex(rank: .draftNames)

    /// Opens and reads the journal. No draft is sent before `start`.
    /// - Parameters:
    ///   - folder: The outbox's own folder in the profile's data, for one process at a time.
    ///   - key: Encryption key of the journal, which holds the keys of drafts; nil if not encrypted.
    ///   - quietTime: Time after the last close of a writer during which no open may occur.
    ///   - writers: Classification of writing programs.
    ///   - completion: Called for each message before delivery.
    /// - Throws: `wrongVersion`, `noSpace`, `storage`.
    public convenience init(
        core: any ChatCore, folder: PrivateFolder, key: SecretBytes? = nil, quietTime: Duration,
        writers: WriterPolicy = WriterPolicy(), completion: @escaping MessageCompletion = { $0 },
        clock: any OutboxClock = SystemOutboxClock(), wallClock: any WallClock = SystemWallClock()
    ) throws(OutboxError) {
        // Without a readable boot id, all boots count as the same.
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
                streamForm: { core.streamForm(for: $0, name: $1) },
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
        // Set here, because the staging queue needs the context, which owns the quiet time.
        context.quietTime.whenQuiet { [weak staging] in staging?.add($0) }
        let found = try described { try JournalReplay(context: context).drafts() }
        // Removed drafts are only withdrawn.
        for draft in found where !draft.machine.isRemoved {
            let snapshot = draft.snapshot
            directory.add(draft, named: snapshot.state == .recovered ? nil : snapshot.name)
        }
        state.withLock { $0.found = found }
    }

    // MARK: - Drafts

    /// All known drafts, oldest first, including unacknowledged `sent` and `recovered` ones. From memory.
    public func drafts() -> [Draft] { directory.drafts }

    /// Returns the draft with this id if it is known.
    public func draft(_ id: Int64) -> Draft? { directory.draft(id) }

    /// Returns a new stream of all changes from now on.
    public func changes() -> AsyncStream<OutboxChange> { context.changes.subscribe() }

    /// Maximum size of a new draft in bytes, 0 if unknown. Half of the free disk space, because sending needs
    /// a draft's size twice for a moment. Blocks briefly.
    public func availableBytes() -> UInt64 { ((try? context.spool.availableBytes()) ?? 0) / 2 }

    /// Number of files to be handed over; after `shutDown`, those that the next mount sends.
    public var waiting: Int { drafts().count { $0.machine.isWaiting } }

    /// Like `waiting`, for an outbox that no process has open. Blocks.
    /// - Throws: `wrongVersion`, `noSpace`, `storage`.
    public static func waiting(inFolder path: String, key: SecretBytes? = nil) throws(OutboxError) -> Int {
        try described {
            let journal = try Journal(path: path + "/journal.sqlite", key: key, random: SystemRandomSource())
            defer { journal.close() }
            return try journal.entries().count { DraftMachine(restoring: $0.record, $0.state).isWaiting }
        }
    }

    // MARK: - Names

    /// Creates an empty draft, opened for writing; its creator closes `DraftOpening.ofItsMaker`.
    /// - Parameter name: The writer's exact bytes: 1 to 255, valid UTF-8 without `/` and NUL.
    /// - Throws: `invalidName`, `nameTooLong`, `nameTaken`, `noSpace`, `shuttingDown`, `storage`.
    public func create(name: [UInt8], in chat: ChatReference) throws(OutboxError) -> Draft {
        try DraftName.requireValid(name)
        return try make(name, in: chat)
    }

    /// - Parameter name: A valid name, or the path of a part.
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

    /// Renames a draft in its chat, or a part to another path. Replaces an existing draft of that name. A
    /// final name sends a draft that a temporary name held back, after the quiet time.
    /// - Parameter thread: The thread that renames; 0 if unknown.
    /// - Throws: `notPermitted` unless both are drafts, `invalidName`, `nameTooLong`, `noSpace`, `storage`.
    public func rename(_ draft: Draft, to name: [UInt8], by thread: pid_t = 0) throws(OutboxError) {
        if let path = PartPath(name) { try path.require() } else { try DraftName.requireValid(name) }
        if let target = directory.draft(named: name, in: draft.chat), draft.isLessDurable(than: target) {
            // Done here too, since a long fsync under the mutex would delay other names.
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
            // The replaced row is deleted in the same transaction.
            if let target {
                prepared.append(try target.prepare(.replaced))
                // A durable draft is never replaced by one that is not.
                if draft.isLessDurable(than: target) { try draft.synchroniseLocked() }
            }
            prepared.append(try draft.prepare(.renamed(name)))
            try context.perform(prepared)
            draft.noteRename(by: thread)
            directory.rename(draft, from: old, to: name, replacing: target)
        }
    }

    /// Removes a draft, or withdraws a queued or sending one. A message that the core has taken is deleted
    /// after this call, by the next process if necessary.
    /// - Parameter evenAtTheCore: If false, fails while the core is taking the draft.
    /// - Throws: `notPermitted` for a sent draft, which only the core can delete; `noSpace`, `storage`.
    public func remove(_ draft: Draft, evenAtTheCore: Bool = true) throws(OutboxError) {
        try naming.withLock { () throws(OutboxError) in
            try draft.mutex.withLock { () throws(OutboxError) in
                guard evenAtTheCore || draft.state != .sending else { throw OutboxError.immutable }
                try context.perform([draft.prepare(.removed)])
            }
            directory.remove(draft)
        }
        context.journal.reserveSpace()
        // Asks the core at once for a possible item.
        context.deliveries.notify([draft.chat])
    }

    /// Sends a draft again that the core refused or may have; recipients may then get it twice, so the user
    /// must decide. Sends a held draft as it is after the quiet time. Returns false for other drafts.
    /// - Throws: `noSpace`, `storage`.
    public func retry(_ draft: Draft) throws(OutboxError) -> Bool {
        guard try draft.handle(.retryRequested) == .willRetry else { return false }
        context.deliveries.notify([draft.chat])
        return true
    }

    /// Sends a recovered draft as it is into its chat, after the quiet time. Returns false for other drafts.
    /// - Parameter name: A free name in the chat's folder.
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

    /// Sets the lookup of other entries in a chat's folder. Called on threads that may block. Set once,
    /// before `start`.
    public func look(with isEntry: @escaping @Sendable ([UInt8], ChatReference) -> Bool) {
        directory.look(with: isEntry)
    }

    /// Removes a sent draft and its bytes after its node was recorded as the item's.
    /// - Throws: `noSpace`, `storage`.
    public func acknowledge(_ draft: Draft) throws(OutboxError) {
        if try draft.handle(.acknowledged) == .forgotten { directory.remove(draft) }
    }

    /// Makes sent drafts durably sent. Call it before deleting a message, because after a power cut the core
    /// could not detect the repetition. Blocks.
    /// - Throws: `noSpace`, `storage`.
    public func synchronise() throws(OutboxError) { try described { try context.journal.synchronise() } }

    /// Retries temporarily refused drafts at once, after the cause has passed.
    public func retryPostponed() { worker.retryPostponed() }

    /// Completes a message that is no draft, adding its preview.
    func completed(_ message: ComposedMessage) async throws(ChatError) -> ComposedMessage {
        try await worker.completed(message)
    }

    // MARK: - Start

    /// Starts sending, with the journal's drafts first. Returns at once. Open `changes` before to see every
    /// change.
    public func start() {
        ThreadPool.shared.submit { [self] in
            // Only drafts of earlier processes; new ones have a writer.
            let found = state.withLock { state in
                defer { state.found = [] }
                return state.found
            }
            // Reserve all places before the first delivery.
            for draft in found { draft.tell(.started) }
            context.deliveries.notify(Set(found.map(\.chat)))
            let sent = found.filter { $0.state == .sent }
            if !sent.isEmpty { Task { await self.announce(sent) } }
            removeAged()
        }
    }

    /// Reports drafts sent by an earlier process that the file system did not record.
    private func announce(_ sent: [Draft]) async {
        for draft in sent {
            guard case .sent(let id) = draft.machine.phase else { continue }
            do throws(ChatError) {
                context.changes.send(.became(draft, try await core.item(id, in: draft.chat)))
            } catch  where [.noSuchItem, .noSuchChat].contains(error.code) {
                // The item was deleted meanwhile.
                await ThreadPool.shared.run { self.forget(draft) }
                context.changes.send(.removed(draft))
            } catch {
                context.log.warning("sent file not reported before the next start: error=\(error.sentence)")
            }
        }
    }

    private func forget(_ draft: Draft) {
        do {
            try acknowledge(draft)
        } catch {
            context.log.warning(
                "draft of a deleted message not removed: error=\(sentenceWithCauses(of: error))")
        }
    }

    // MARK: - Expiry

    /// Recovers untouched drafts and removes empty ones, now and every hour.
    private func removeAged() {
        saveUptime()
        for draft in drafts() {
            do {
                try removeIfAged(draft)
            } catch {
                context.log.warning(
                    "untouched draft not expired, retrying in an hour: error=\(error.sentence)")
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
            // On an error, drafts expire a little later.
            context.log.notice("age of drafts not saved: error=\(Base.sentence(of: error))")
        }
    }

    private func removeIfAged(_ draft: Draft) throws(OutboxError) {
        // Most drafts are not due, so check without their mutex first, then again with it.
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

    // MARK: - Shutdown

    /// Queues closed drafts at once and waits for possible deliveries. Temporarily refused drafts are sent
    /// after the next start, and so are drafts with a writer if they are closed before the process ends;
    /// others are recovered.
    public func shutDown() async {
        state.withLock { $0.isShuttingDown = true }
        context.quietTime.end()
        await staging.becomeIdle()
        // A retry after the shutdown would send a draft that the next start sends too.
        await context.deliveries.work.drain()
        await ThreadPool.shared.run { self.saveUptime() }
        staging.close()
        context.changes.finish()
    }

    /// Closes the journal. Call it after `shutDown`, when deliveries are acknowledged. Blocks.
    public func close() { context.journal.close() }
}
