import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A file that is being sent: from the moment its name is made until the core has it.
///
/// A driver around `DraftMachine`, which decides: it brings the events, writes the rows, touches the files.
/// `snapshot`, `state`, `isFinished` and `hold` come from memory; everything else blocks on files and on the
/// journal. Any thread; operations of one draft run one after the other, reads beside them.
///
/// Every file description that is opened for it calls `opened`, `flushed` whenever a descriptor of it is closed,
/// and `closed` when it is released; only in between may it be read and written.
public final class Draft: Sendable {
    /// Never used for another draft of the profile.
    public let id: Int64
    public let chat: ChatReference

    private struct State {
        var machine: DraftMachine
        /// Open while somebody has the draft open.
        var file: SealedFile?
        /// Who may come back for a removed draft, see `hold`.
        var holds = 0
        /// Its bytes are removed.
        var bytesAreGone = false
        /// Its row says more than is true, and its spool file that it does.
        var isMarked = false
        /// Who has written it, until that was judged.
        var acts = DraftActs()
        /// When each opening was made, of those that have not written yet.
        var openedAt: [Int: ContinuousClock.Instant] = [:]
        /// When its quiet time began last, by the outbox's clock.
        var quietSince = Duration.zero
    }

    /// Orders the operations. Locked after that of names (`Outbox`), those of several drafts by rising id, and
    /// before any `Lock`.
    let mutex: BlockingMutex
    /// The part of it that is encrypted for the core already, while it is written.
    let earlyCopy: EarlyCopy
    private let context: DraftContext
    private let current: Lock<State>

    /// One that is made at this moment, open for its maker.
    init(creating record: DraftRecord, file: SealedFile, context: DraftContext) {
        (id, chat) = (record.id, record.chat)
        mutex = BlockingMutex(rank: .draft, number: record.id)
        self.context = context
        // A part is never sent by itself.
        earlyCopy = EarlyCopy(isInOrder: !record.isPart, in: context.staging, context.earlyCopies)
        var state = State(machine: DraftMachine(creating: record), file: file)
        state.openedAt[DraftOpening.ofItsMaker.number] = .now
        current = Lock(state)
    }

    /// One of an earlier process.
    init(restoring machine: DraftMachine, context: DraftContext) {
        (id, chat) = (machine.record.id, machine.record.chat)
        mutex = BlockingMutex(rank: .draft, number: machine.record.id)
        self.context = context
        earlyCopy = EarlyCopy(isInOrder: false, in: context.staging, context.earlyCopies)
        current = Lock(State(machine: machine))
    }

    deinit { context.freeMemory.noteGone() }

    // MARK: - From memory

    public var snapshot: DraftSnapshot {
        let uptime = context.uptime.seconds
        return current.withLock { $0.machine.snapshot(at: uptime) }
    }

    public var state: DraftState { current.withLock { $0.machine.state } }

    /// As it is at this moment.
    var machine: DraftMachine { current.withLock { $0.machine } }

    /// Whether a copy that began with this attempt is still worth being finished.
    func isStaging(_ attempt: Int) -> Bool { current.withLock { $0.machine.isStaging(attempt) } }

    /// What can be copied along with its writer: nil when nobody has it open.
    func written() -> (file: SealedFile, size: UInt64)? {
        current.withLock { state in state.file.map { ($0, state.machine.record.size) } }
    }

    /// Whether nobody is in the middle of writing through `opening`.
    public func isFinished(_ opening: DraftOpening) -> Bool {
        opening.access == .reading || current.withLock { $0.machine.writers.isFinished(opening.number) }
    }

    /// Keeps the bytes, also when the draft is removed, until `letGo`. False when they are gone already.
    public func hold() -> Bool {
        current.withLock { state in
            guard !state.bytesAreGone else { return false }
            state.holds += 1
            return true
        }
    }

    // MARK: - Openings

    /// A file description was opened. For writing, a draft that was queued but not handed over becomes
    /// a draft again, durably before this returns.
    /// A removed one is opened for as long as somebody holds it or has it open.
    /// - Throws: `notPermitted` for writing once it is on its way, and when it is recovered; `gone`; `damaged`,
    ///   `noSpace`, `storage`.
    @discardableResult
    public func opened(for access: DraftAccess) throws(OutboxError) -> DraftOpening {
        guard hold() else { throw OutboxError.gone }
        defer { letGo() }
        return try mutex.withLock { () throws(OutboxError) in
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

    /// A descriptor of an opening is being closed, by `thread` (0 when the kernel does not say), which waits for the
    /// answer: when it gets it, the row of the journal says that the draft is complete, or why it is not.
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

    /// A file description was released. After the last writer's the quiet time begins.
    public func closed(_ opening: DraftOpening) {
        mutex.withLock {
            let sequence = opening.access == .writing ? context.deliveries.nextSequence() : 0
            current.withLock { $0.openedAt[opening.number] = nil }
            tellLocked(.released(opening, sequence: sequence))
            // A chat of thousands of drafts keeps no descriptors: the file goes with its last user.
            let unused = current.withLock { state -> SealedFile? in
                guard !state.machine.isOpen else { return nil }
                defer { state.file = nil }
                return state.file
            }
            // Closed here, after the lock.
            withExtendedLifetime(unused) {}
        }
    }

    /// Ends one `hold`. Blocks on the disk where that was the last use of a removed draft.
    public func letGo() {
        current.withLock { $0.holds -= 1 }
        removeBytesIfUnused()
    }

    // MARK: - Bytes

    /// Fills `buffer` from `offset` on; fewer bytes only at the end.
    /// - Throws: `damaged` when the bytes on disk are not those that were written; `storage`.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(OutboxError) -> Int {
        try described { try openFile().read(into: buffer, at: offset) }
    }

    /// Writes all of `bytes` at `offset`, or fails as a whole as far as the file's length goes; then the
    /// draft is incomplete and stays local until it is emptied and written again.
    /// - Parameter thread: whose write(2) it is, 0 when that is not known.
    /// - Throws: `tooLarge`, `noSpace`, `notPermitted`, `storage`.
    public func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, through opening: DraftOpening, by thread: pid_t
    ) throws(OutboxError) {
        try mutex.withLock { () throws(OutboxError) in
            let (file, size) = try fileForWriting()
            let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
            guard !bytes.isEmpty else { return }
            try failingAsIncomplete(file) {
                // Before anything can fail: who was finished has more to say.
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

    /// Sets the length: cuts, or grows by zeros that take no space. Without a writer (truncate(2)) it
    /// counts as one that opened and closed it.
    /// - Parameters:
    ///   - opening: nil where it is named, not opened.
    ///   - thread: whose ftruncate(2) it is, 0 when that is not known.
    /// - Throws: as `opened` and `write`.
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
            }
            tellLocked(.truncated(size: size, at: context.clock.now()))
        }
    }

    /// Makes everything written so far survive a power cut: the bytes, the name and the key. After a
    /// crash it is recovered, or sent when it was closed too.
    /// - Throws: `noSpace`, `storage`.
    public func synchronise() throws(OutboxError) {
        try mutex.withLock { () throws(OutboxError) in try synchroniseLocked() }
    }

    /// A power cut may take this one where it leaves the other.
    func isLessDurable(than other: Draft) -> Bool {
        other.machine.record.isDurable && !machine.record.isDurable
    }

    /// `synchronise` under the mutex.
    func synchroniseLocked() throws(OutboxError) {
        guard !machine.isRemoved else { return }
        try described {
            try openFile().synchronise()
            try context.spool.synchronise()
        }
        _ = try handleLocked(.synchronised)
    }

    // MARK: - Attributes

    /// The time that the file shows and that goes with the message. Succeeds in every state and never
    /// sends anything again; once the message is out the outbox only passes it on.
    /// - Throws: `noSpace`, `storage`.
    public func setModified(_ time: Timestamp) throws(OutboxError) { _ = try handle(.modifiedSet(time)) }

    /// The text that goes with the file.
    /// - Throws: `notPermitted` once it is on its way; `noSpace`, `storage`.
    public func setCaption(_ caption: String) throws(OutboxError) { _ = try handle(.captionSet(caption)) }

    // MARK: - Events

    /// Takes an event to its end. Blocks.
    /// - Throws: `notPermitted` when the state does not allow it, `noSpace`, `storage`; then nothing has happened.
    func handle(_ event: DraftEvent) throws(OutboxError) -> DraftReply {
        try mutex.withLock { () throws(OutboxError) in try handleLocked(event) }
    }

    /// The same of an event that nobody can refuse. Blocks.
    @discardableResult
    func tell(_ event: DraftEvent) -> DraftReply { mutex.withLock { tellLocked(event) } }

    /// The first half of `handle`, under the mutex: what `DraftContext.perform` takes to its end.
    /// - Throws: `notPermitted`.
    func prepare(_ event: DraftEvent) throws(OutboxError) -> PreparedTransition {
        var next = machine
        let transition = try apply(event, to: &next)
        return PreparedTransition(draft: self, machine: next, transition: transition)
    }

    /// Its row is as it should be; or it could not be written, and is not to be trusted.
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
            context.log.error("the row of a draft is wrong, and nothing says so: \(error.sentence)")
        }
    }

    func commit(_ machine: DraftMachine) { current.withLock { $0.machine = machine } }

    func perform(_ effects: [DraftEffect]) {
        for effect in effects {
            context.step(.performs(effect))
            perform(effect)
        }
    }

    // MARK: - Under the mutex

    private func handleLocked(_ event: DraftEvent) throws(OutboxError) -> DraftReply {
        if let transition = try applyInMemory(event) {
            perform(transition.effects)
            return transition.reply
        }
        let prepared = try prepare(event)
        try context.perform([prepared])
        return prepared.reply
    }

    /// As a rule a write changes no row: then the machine changes in place, under one lock and without a copy.
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
            throw OutboxError(.storage, "This draft was told what cannot have happened.")
        }
    }

    @discardableResult
    private func tellLocked(_ event: DraftEvent) -> DraftReply {
        do {
            return try handleLocked(event)
        } catch {
            context.log.error("a draft could not go on: \(sentenceWithCauses(of: error))")
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

    /// After the removal, and after each use that ended: the last one takes the bytes along.
    private func removeBytesIfUnused() {
        let spool: String? = current.withLock { state in
            guard state.machine.isRemoved, !state.machine.isOpen, state.holds == 0, !state.bytesAreGone
            else { return nil }
            state.bytesAreGone = true
            return state.machine.record.spool
        }
        if let spool { context.spool.remove(spool) }
    }

    /// The spool file, opened for the moment when nobody has the draft open.
    private func openFile() throws -> SealedFile {
        let (file, record) = current.withLock { ($0.file, $0.machine.record) }
        return try file ?? context.spool.open(record.spool, key: record.key)
    }

    private func fileForWriting() throws(OutboxError) -> (SealedFile, size: UInt64) {
        let open = current.withLock { state in
            state.machine.acceptsWrites ? state.file.map { ($0, state.machine.record.size) } : nil
        }
        guard let open else { throw OutboxError.immutable }
        return open
    }

    /// What the writer did not get in is missing: the draft is not fit to be sent.
    private func failingAsIncomplete(
        _ file: SealedFile, _ body: () throws -> Void
    ) throws(OutboxError) {
        do {
            try body()
        } catch {
            tellLocked(.writeFailed(size: file.size))
            throw OutboxError(beneath: error)
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

    /// A draft is copied once when it is sent. A writer learns now, not later, that there is no space.
    private func requireSpace(for growth: UInt64, whenLong size: UInt64) throws {
        let (needed, overflow) = growth.addingReportingOverflow(size - min(earlyCopy.copied, size))
        guard !overflow, try context.spool.availableBytes() >= needed else {
            throw OutboxError.noSpace
        }
    }
}

// MARK: - Its writers

extension Draft {
    /// Under the mutex. As a rule it is the next piece of the same writer.
    private func noteWriteLocked(through opening: Int, by thread: pid_t) {
        let (isKnown, attempt, openedAt) = current.withLock { state in
            let attempt = state.machine.writers.attempt
            return (state.acts.knows(opening, thread, in: attempt), attempt, state.openedAt[opening])
        }
        guard !isKnown, let writer = context.writers.writer(of: thread) else { return }
        let signals = ThreadStatus(of: thread)?.signals
        let failed = writer.lastFailedRead
        current.withLock { state in
            let caught = signals?.catchesEndingSignal == true ? signals : nil
            state.acts.noteWrite(writer, opening, thread, caught, in: attempt)
            state.openedAt[opening] = nil
        }
        // It has read in vain after it opened this, and writes what it had read before.
        if let failed, let openedAt, failed > openedAt { noteFailedReadLocked(by: writer) { $0 === writer } }
        if writer.program.kind.mayGoOn { tellLocked(.doubted(.running(writer.program.name))) }
    }

    /// - Parameter isEnding: the process closes all that it has open.
    private func noteClose(by thread: pid_t, isEnding: Bool) {
        guard let writer = context.writers.writer(of: thread) else { return }
        let signals = signals(of: writer, thread)
        current.withLock { $0.acts.noteClose(by: writer, thread, signals, isEnding: isEnding) }
    }

    /// It gets another name from `thread`, which waits for the answer; 0 when the kernel does not say who.
    func noteRename(by thread: pid_t) {
        guard !current.withLock({ $0.acts.isEmpty }), let writer = context.writers.writer(of: thread) else {
            return
        }
        let signals = signals(of: writer, thread)
        current.withLock { $0.acts.noteRename(by: writer, thread, signals) }
    }

    private func signals(of writer: WriterProcess, _ thread: pid_t) -> SignalState? {
        guard current.withLock({ $0.acts.comparesSignals(of: writer) }) else { return nil }
        return ThreadStatus(of: thread)?.signals
    }

    /// A rename of it was refused, or another one to a writer of it.
    /// - Parameter writer: nil: the rename was one of this draft, by whomever.
    func noteRefusedRename(by writer: WriterProcess?) {
        current.withLock { $0.acts.noteRefusedRename(by: writer) }
    }

    /// A read of a file of this mount failed for `reader`: what its writers have open is incomplete.
    /// - Parameter isMeant: whether a writer gets its bytes from the reader.
    func noteFailedRead(by reader: WriterProcess, where isMeant: (WriterProcess) -> Bool) {
        guard current.withLock({ !$0.machine.writers.isEmpty && !$0.acts.isEmpty }) else { return }
        mutex.withLock { noteFailedReadLocked(by: reader, where: isMeant) }
    }

    private func noteFailedReadLocked(by reader: WriterProcess, where isMeant: (WriterProcess) -> Bool) {
        // Who is meant may have to be looked up.
        let meant = writerProcesses.filter(isMeant)
        guard !meant.isEmpty, current.withLock({ !$0.machine.writers.isEmpty }) else { return }
        current.withLock { $0.acts.noteFailedRead(of: meant) }
        tellLocked(.doubted(.failedRead(reader.program.name)))
    }

    /// Those that wrote it since it was judged last.
    var writerProcesses: [WriterProcess] { current.withLock { $0.acts.writers } }

    private var awaited: [WriterProcess] {
        let acts = current.withLock { $0.acts }
        return acts.writers + acts.parents
    }

    /// What is known of its writers at this moment, and since when it rests. Reads proc(5) for those that have just
    /// ended.
    var completion: DraftCompletion {
        let (acts, record, since) = current.withLock { ($0.acts, $0.machine.record, $0.quietSince) }
        return DraftCompletion(
            writers: acts.evidence, earlierHold: record.hold, isWanted: record.isWanted,
            silence: context.quietTime.now - since, patience: context.quietTime.patience)
    }

    /// Takes the end of a quiet time to the machine. Blocks.
    func judge(_ verdict: DraftCompletion.Verdict, _ period: Int) -> DraftReply {
        mutex.withLock {
            let reply = tellLocked(.quietTimeOver(period: period, verdict))
            // What was decided is in the row; a writer that comes back is a new one.
            current.withLock { state in
                if case .stage = reply { state.acts.removeAll() }
                if state.machine.phase == .local, state.machine.record.hold != nil { state.acts.removeAll() }
            }
            return reply
        }
    }

    private func waitForWriters(_ period: Int, _ limit: Duration) {
        context.quietTime.begin(self, period, waiting: limit)
        for writer in awaited {
            writer.whenEnded(id) { [weak self] in
                if let self { self.context.quietTime.hurry(self) }
            }
        }
    }
}

extension Draft: Hashable {
    public static func == (left: Draft, right: Draft) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
