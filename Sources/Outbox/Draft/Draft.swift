import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// An outgoing file, from its creation until the core has it.
///
/// A driver around `DraftMachine`: it passes events in, writes rows and does the file I/O. `snapshot`,
/// `state`, `isFinished` and `hold` come from memory; all other calls block on files and the journal.
/// Thread-safe. Operations on one draft are serialised; reads run in parallel.
///
/// Each file handle calls `opened`, `flushed` at every close of a descriptor, and `closed` at its release.
/// Reads and writes are allowed only in between.
public final class Draft: Sendable {
    /// Unique in the profile, also over time.
    public let id: Int64
    public let chat: ChatReference

    struct State {
        var machine: DraftMachine
        /// Open while the draft is open.
        var file: SealedFile?
        /// Number of holders, see `hold`.
        var holds = 0
        /// The bytes are deleted.
        var bytesAreGone = false
        /// A power cut may have damaged the bytes, and no copy was left to restore them.
        var mayBeDamaged = false
        /// Error of a failed fsync, until all bytes are written anew.
        var lostWrite: OutboxError?
        /// The row is wrong, and the spool file is marked for that (`Spool.mark`).
        var isMarked = false
        /// Operations of writers since the last verdict.
        var acts = DraftActs()
        /// Opening time of each handle without a write.
        var openedAt: [Int: ContinuousClock.Instant] = [:]
        /// Start of the last quiet time, by the outbox's clock.
        var quietSince = Duration.zero
    }

    /// Serialises operations. Lock order: the mutex for names (`Outbox`), drafts by ascending id, any `Lock`.
    let mutex: BlockingMutex
    /// The part that was encrypted for the core while the draft is written.
    let earlyCopy: EarlyCopy
    let context: DraftContext
    let current: Lock<State>

    /// Creates a new draft, open for its creator.
    init(creating record: DraftRecord, file: SealedFile, context: DraftContext) {
        (id, chat) = (record.id, record.chat)
        mutex = BlockingMutex(rank: .draft, number: record.id)
        self.context = context
        // Parts of folders are never sent alone.
        earlyCopy = EarlyCopy(
            isInOrder: !record.isPart, in: context.staging, context.earlyCopies,
            form: context.streamForm(of: record))
        var state = State(machine: DraftMachine(creating: record), file: file)
        state.openedAt[DraftOpening.ofItsMaker.number] = .now
        current = Lock(state)
    }

    /// Restores a draft of an earlier process.
    /// - Parameter mayBeDamaged: True if a power cut may have damaged the bytes.
    init(restoring machine: DraftMachine, mayBeDamaged: Bool, context: DraftContext) {
        (id, chat) = (machine.record.id, machine.record.chat)
        mutex = BlockingMutex(rank: .draft, number: machine.record.id)
        self.context = context
        earlyCopy = EarlyCopy(
            isInOrder: false, in: context.staging, context.earlyCopies,
            form: context.streamForm(of: machine.record))
        current = Lock(State(machine: machine, mayBeDamaged: mayBeDamaged))
    }

    deinit { context.freeMemory.noteGone() }

    // MARK: - From memory

    public var snapshot: DraftSnapshot {
        let uptime = context.uptime.seconds
        return current.withLock { $0.machine.snapshot(at: uptime) }
    }

    public var state: DraftState { current.withLock { $0.machine.state } }

    /// The current state.
    var machine: DraftMachine { current.withLock { $0.machine } }

    /// Returns true if a copy of this attempt is still wanted.
    func isStaging(_ attempt: Int) -> Bool { current.withLock { $0.machine.isStaging(attempt) } }

    /// The readable bytes for an early copy; nil if the draft is not open.
    func written() -> (file: SealedFile, size: UInt64)? {
        current.withLock { state in state.file.map { ($0, state.machine.record.size) } }
    }

    /// Returns true if no write through this handle is unfinished.
    public func isFinished(_ opening: DraftOpening) -> Bool {
        opening.access == .reading || current.withLock { $0.machine.writers.isFinished(opening.number) }
    }

    /// Keeps the bytes, even of a removed draft, until `letGo`. Returns false if they are already deleted.
    public func hold() -> Bool {
        current.withLock { state in
            guard !state.bytesAreGone else { return false }
            state.holds += 1
            return true
        }
    }

    // MARK: - Openings

    /// Opens a file handle. Opening a queued draft for writing makes it a draft again, durably, unless it was
    /// handed over. A removed draft can be opened while it is held or open.
    /// - Throws: `notPermitted` for writing after hand-over or in the state `recovered`; `gone`; `damaged`,
    ///   `noSpace`, `storage`.
    @discardableResult
    public func opened(for access: DraftAccess) throws(OutboxError) -> DraftOpening {
        guard hold() else { throw OutboxError.gone }
        defer { letGo() }
        return try mutex.withLock { () throws(OutboxError) in
            // The core's copy is served as soon as the core confirms it.
            let isServed = current.withLock { state in
                !state.mayBeDamaged || access == .reading && [.failed, .unsure].contains(state.machine.state)
            }
            guard isServed else { throw OutboxError.unconfirmed }
            let file = try described { try openFile() }
            guard case .opened(let opening) = try handleLocked(.opened(access)) else {
                throw OutboxError.immutable
            }
            current.withLock { state in
                state.file = file
                if access == .writing { state.openedAt[opening.number] = .now }
            }
            return opening
        }
    }

    /// Handles the close of a descriptor. On return, the journal's row says whether the draft is complete.
    /// - Parameter thread: The thread waiting for the reply; 0 if unknown.
    public func flushed(_ opening: DraftOpening, by thread: pid_t) {
        guard opening.access == .writing else { return }
        let last = current.withLock { $0.machine.writers.lastWriter(opening.number) }
        let (close, outcome) = DescriptorClose.looked(at: thread, lastWriter: last)
        if close == .finished, last != nil { noteClose(by: thread, isEnding: outcome != nil) }
        flushed(opening, close)
    }

    func flushed(_ opening: DraftOpening, _ close: DescriptorClose) {
        if close == .foreign { return }
        mutex.withLock {
            let sequence = context.deliveries.nextSequence()
            tellLocked(.flushed(opening: opening.number, close, sequence: sequence))
        }
    }

    /// Handles the release of a file handle. The last writer's release starts the quiet time.
    public func closed(_ opening: DraftOpening) {
        mutex.withLock {
            let sequence = opening.access == .writing ? context.deliveries.nextSequence() : 0
            current.withLock { $0.openedAt[opening.number] = nil }
            tellLocked(.released(opening, sequence: sequence))
            // Closes the spool file, because a chat may have thousands of drafts.
            let unused = current.withLock { state -> SealedFile? in
                guard !state.machine.isOpen else { return nil }
                defer { state.file = nil }
                return state.file
            }
            // Closed after unlocking.
            withExtendedLifetime(unused) {}
        }
    }

    /// Ends one `hold`. Blocks on disk I/O if it was the last use of a removed draft.
    public func letGo() {
        current.withLock { $0.holds -= 1 }
        removeBytesIfUnused()
    }

    // MARK: - Bytes

    /// Fills `buffer` from `offset`. Returns fewer bytes only at the end.
    /// - Throws: `damaged` if the bytes are not authentic; `storage`.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(OutboxError) -> Int {
        try described {
            let file = try openFile()
            let (mayBeDamaged, size) = current.withLock { ($0.mayBeDamaged, $0.machine.record.size) }
            let end = min(offset + UInt64(buffer.count), size)
            guard !mayBeDamaged || offset >= size || Self.has(offset..<end, in: file) else {
                throw OutboxError.damaged
            }
            return try file.read(into: buffer, at: offset)
        }
    }

    /// Returns false for a range with a lost block, which reads as zeros, or behind a lost end.
    private static func has(_ range: Range<UInt64>, in file: SealedFile) -> Bool {
        let block = UInt64(SealedFile.blockSize)
        guard !range.isEmpty, range.upperBound <= file.size else { return range.isEmpty }
        return (range.lowerBound / block...(range.upperBound - 1) / block).allSatisfy {
            file.hasBlock(Int($0))
        }
    }

    /// Writes all of `bytes` at `offset` or fails without changing the length. After a failure the draft is
    /// incomplete and stays local until it is truncated to 0 and rewritten.
    /// - Parameter thread: The thread in write(2); 0 if unknown.
    /// - Throws: `tooLarge`, `noSpace`, `notPermitted`, `storage`.
    public func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, through opening: DraftOpening, by thread: pid_t
    ) throws(OutboxError) {
        try mutex.withLock { () throws(OutboxError) in
            let (file, size) = try fileForWriting()
            let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
            guard !bytes.isEmpty else { return }
            try failingAsIncomplete(file) {
                // First, because the writer is unfinished even if the write fails.
                _ = try handleLocked(.writeBegins(opening: opening.number, thread: thread))
                noteWriteLocked(through: opening.number, by: thread)
                try requireAllowed(overflow ? .max : end)
                if end > size { try requireSpace(for: UInt64(bytes.count), whenLong: end) }
                try file.write(bytes, at: offset)
            }
            tellLocked(.wrote(size: max(size, end), at: context.clock.now()))
            earlyCopy.wrote(offset..<end, oldSize: size, from: { self.written() })
        }
    }

    /// Sets the length; new bytes are zeros without disk space. Without a writer, as for truncate(2), counts
    /// as an open and a close.
    /// - Parameters:
    ///   - opening: The handle; nil for a truncation by name.
    ///   - thread: The thread in ftruncate(2); 0 if unknown.
    /// - Throws: As `opened` and `write`.
    public func truncate(
        to size: UInt64, through opening: DraftOpening?, by thread: pid_t
    ) throws(OutboxError) {
        guard current.withLock({ !$0.machine.writers.isEmpty }) else {
            let opening = try opened(for: .writing)
            defer { closed(opening) }
            return try truncate(to: size, through: nil, by: thread)
        }
        try mutex.withLock { () throws(OutboxError) in
            let (file, old) = try fileForWriting()
            try failingAsIncomplete(file) {
                _ = try handleLocked(
                    .truncationBegins(to: size, opening: opening?.number, thread: thread))
                if size == 0 {
                    current.withLock { $0.acts.removeAll() }
                } else if let opening {
                    noteWriteLocked(through: opening.number, by: thread)
                }
                try requireAllowed(size)
                if size > old { try requireSpace(for: 0, whenLong: size) }
                try file.truncate(to: size)
                if size == 0 { current.withLock { $0.lostWrite = nil } }
            }
            tellLocked(.truncated(size: size, at: context.clock.now()))
        }
    }

    /// Makes bytes, name and key survive a power cut. After a crash the draft is recovered, or sent if it was
    /// closed.
    /// - Throws: `noSpace`, `storage`. After a failed fsync the kernel takes the pages for written, so every
    ///   later call throws the same error, until the draft is truncated to no bytes.
    public func synchronise() throws(OutboxError) {
        try mutex.withLock { () throws(OutboxError) in try synchroniseLocked() }
    }

    /// Returns true if a power cut may destroy this draft but not `other`.
    func isLessDurable(than other: Draft) -> Bool {
        other.machine.record.isDurable && !machine.record.isDurable
    }

    /// Like `synchronise`, with the mutex held.
    func synchroniseLocked() throws(OutboxError) {
        guard !machine.isRemoved else { return }
        if let error = current.withLock(\.lostWrite) { throw error }
        try noticingLostWrites { try openFile().synchronise() }
        try described { try context.spool.synchronise() }
        _ = try handleLocked(.synchronised)
    }

    // MARK: - Attributes

    /// Sets the modification time that the file shows and the message carries. Allowed in every state; never
    /// resends.
    /// - Throws: `noSpace`, `storage`.
    public func setModified(_ time: Timestamp) throws(OutboxError) { _ = try handle(.modifiedSet(time)) }

    /// Sets the text of the message.
    /// - Throws: `notPermitted` after hand-over; `noSpace`, `storage`.
    public func setCaption(_ caption: String) throws(OutboxError) { _ = try handle(.captionSet(caption)) }

    // MARK: - Events

    /// Performs an event completely. Blocks.
    /// - Throws: `notPermitted` if the state does not allow it, `noSpace`, `storage`. After an error the
    ///   draft is unchanged.
    func handle(_ event: DraftEvent) throws(OutboxError) -> DraftReply {
        try mutex.withLock { () throws(OutboxError) in try handleLocked(event) }
    }

    /// Like `handle`, for events that are always allowed. Blocks.
    @discardableResult
    func tell(_ event: DraftEvent) -> DraftReply { mutex.withLock { tellLocked(event) } }

    /// Prepares a transition that `DraftContext.perform` completes. Called with the mutex held.
    /// - Throws: `notPermitted`.
    func prepare(_ event: DraftEvent) throws(OutboxError) -> PreparedTransition {
        var next = machine
        let transition = try apply(event, to: &next)
        return PreparedTransition(draft: self, machine: next, transition: transition)
    }

    /// Records whether the row is right. If it could not be written, marks the spool file.
    func noteRow(isRight: Bool) {
        let spool: String? = current.withLock { state in
            guard state.isMarked == isRight else { return nil }
            state.isMarked = !isRight
            return state.machine.record.spool
        }
        guard let spool else { return }
        do {
            try context.spool.mark(spool, !isRight)
        } catch {
            context.log.error("wrong draft row not marked: error=\(error.sentence)")
        }
    }

    func commit(_ machine: DraftMachine) { current.withLock { $0.machine = machine } }

    func perform(_ effects: [DraftEffect]) {
        for effect in effects {
            context.step(.performs(effect))
            perform(effect)
        }
    }

    // MARK: - With the mutex held

    private func handleLocked(_ event: DraftEvent) throws(OutboxError) -> DraftReply {
        if let transition = try applyInMemory(event) {
            perform(transition.effects)
            return transition.reply
        }
        let prepared = try prepare(event)
        try context.perform([prepared])
        return prepared.reply
    }

    /// Most writes change no row; the machine then changes in place, under one lock and without a copy.
    private func applyInMemory(_ event: DraftEvent) throws(OutboxError) -> DraftTransition? {
        try current.withLock { state throws(OutboxError) in
            guard state.machine.changesNoRow(event) else { return nil }
            return try apply(event, to: &state.machine)
        }
    }

    private func apply(
        _ event: DraftEvent, to machine: inout DraftMachine
    ) throws(OutboxError) -> DraftTransition {
        do {
            return try machine.apply(event, at: context.moment)
        } catch .notPermitted {
            throw OutboxError.immutable
        } catch {
            assertionFailure("impossible in \(machine.phase): \(event)")
            throw OutboxError(.storage, "The draft received an impossible event.")
        }
    }

    @discardableResult
    func tellLocked(_ event: DraftEvent) -> DraftReply {
        do {
            return try handleLocked(event)
        } catch {
            context.log.error("draft event failed: error=\(sentenceWithCauses(of: error))")
            return .none
        }
    }

    private func perform(_ effect: DraftEffect) {
        switch effect {
        case .startQuietTime(let period):
            let now = context.quietTime.now
            current.withLock { $0.quietSince = now }
            context.quietTime.begin(self, period)
        case .waitForWriters(let period, let limit): waitForWriters(period, limit)
        case .cancelQuietTime: context.quietTime.cancel(self)
        case .reserveDelivery(let sequence): context.deliveries.reserve(self, at: sequence)
        case .enqueueDelivery(let sequence): context.deliveries.enqueue(self, at: sequence)
        case .leaveDelivery: context.deliveries.remove(self)
        case .discardEarlyCopy: earlyCopy.discard()
        case .restartEarlyCopy: earlyCopy.restart()
        case .removeStaged(let staged): context.staging.remove(staged)
        case .removeBytesIfUnused: removeBytesIfUnused()
        case .removeBytes:
            let spool = current.withLock { state in
                state.bytesAreGone = true
                return state.machine.record.spool
            }
            context.spool.remove(spool)
        case .announce: context.changes.send(.changed(self))
        }
    }

    /// Deletes the bytes of a removed draft after its last use.
    private func removeBytesIfUnused() {
        let spool: String? = current.withLock { state in
            guard state.machine.isRemoved, !state.machine.isOpen, state.holds == 0, !state.bytesAreGone
            else { return nil }
            state.bytesAreGone = true
            return state.machine.record.spool
        }
        if let spool { context.spool.remove(spool) }
    }

    /// Returns the open spool file, or opens it for one operation.
    /// - Throws: `gone` if the bytes were deleted, also meanwhile; errors of the disk.
    private func openFile() throws -> SealedFile {
        let (file, record) = current.withLock { ($0.file, $0.machine.record) }
        if let file { return file }
        do {
            return try context.spool.open(record.spool, key: record.key)
        } catch {
            throw current.withLock(\.bytesAreGone) ? OutboxError.gone : error
        }
    }

    private func fileForWriting() throws(OutboxError) -> (SealedFile, size: UInt64) {
        let open = current.withLock { state in
            state.machine.acceptsWrites ? state.file.map { ($0, state.machine.record.size) } : nil
        }
        guard let open else { throw OutboxError.immutable }
        return open
    }

    /// A failed write leaves the draft incomplete.
    private func failingAsIncomplete(
        _ file: SealedFile, _ body: () throws -> Void
    ) throws(OutboxError) {
        do throws(OutboxError) {
            try noticingLostWrites(body)
        } catch {
            tellLocked(.writeFailed(size: file.size))
            throw error
        }
    }

    /// Remembers a failed fsync, which opening and truncating a file may call too.
    private func noticingLostWrites(_ body: () throws -> Void) throws(OutboxError) {
        do throws(OutboxError) {
            try described(body)
        } catch {
            if (error.cause as? CryptographyError)?.code == .notDurable {
                current.withLock { $0.lostWrite = error }
            }
            throw error
        }
    }

    private func requireAllowed(_ size: UInt64) throws {
        let limit = context.maxFileSize(in: chat)
        guard size <= limit else {
            throw OutboxError(
                .tooLarge,
                "A file in this chat can have at most \(ByteCount.rounded(limit)); this one is larger.")
        }
    }

    /// Sending copies the draft once. The writer gets ENOSPC now, not later.
    private func requireSpace(for growth: UInt64, whenLong size: UInt64) throws {
        let (needed, overflow) = growth.addingReportingOverflow(size - min(earlyCopy.copied, size))
        guard !overflow, try context.spool.availableBytes() >= needed else {
            throw OutboxError.noSpace
        }
    }
}

extension Draft: Hashable {
    public static func == (left: Draft, right: Draft) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
