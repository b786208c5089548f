import Base
import ChatCore

/// The state machine of a draft, a value without I/O. Each event changes the state and returns the driver's
/// work. Late events change nothing; events that no driver may send in a state are `impossible`.
/// `docs/dev/draft-states.md` has the table of transitions, which `DraftTableTests` performs. The type is
/// large because every event needs the phase; writers (`DraftWriters`), row (`DraftRecord`) and delivery
/// (`Delivery`) have types of their own.
struct DraftMachine: Equatable, Sendable {
    private(set) var record: DraftRecord
    private(set) var phase: DraftPhase
    private(set) var writers = DraftWriters()
    /// The attempt for which `record.hold` was decided.
    private var heldAttempt = -1
    private(set) var readers = 0
    /// Numbers of the last quiet time and of the last staging; results of earlier ones are stale.
    private var period = 0
    private var attempt = 0

    /// A new draft, open for its creator (`DraftOpening.ofItsMaker`).
    init(creating record: DraftRecord) {
        self.record = record
        phase = .writing
        _ = writers.open()
    }

    /// A draft of an earlier process, see `DraftRestoration`.
    init(restoring record: DraftRecord, _ stored: StoredState) {
        self.record = record
        phase = DraftPhase(restoring: stored)
    }

    // MARK: - Properties

    var state: DraftState { phase.state }
    var isOpen: Bool { !writers.isEmpty || readers > 0 }
    var isRemoved: Bool { state == .removed }

    /// True if the bytes may change now.
    var acceptsWrites: Bool { !writers.isEmpty && state.isEditable }

    /// True if it is closed and complete but not sent as far as known, including interrupted deliveries.
    var isWaiting: Bool {
        switch phase {
        case .quiet: record.reasonToStay == nil
        case .staging, .queued, .sending: true
        case .writing, .written, .local, .sent, .acknowledged, .failed, .unsure, .recovered, .withdrawn,
            .removed:
            false
        }
    }

    func isStaging(_ attempt: Int) -> Bool { phase == .staging(attempt: attempt) }

    /// True if the row holds the fields that users may change.
    private var isStored: Bool { phase.stored != nil && !isRemoved }

    /// True if it has a place in the delivery queue, for delivery or withdrawal.
    private var isDeliverable: Bool {
        switch phase {
        case .queued: true
        case .withdrawn(let withdrawal): withdrawal.staged == nil
        case .writing, .written, .quiet, .local, .staging, .sending, .sent, .acknowledged, .failed, .unsure,
            .recovered, .removed:
            false
        }
    }

    /// Returns true if the row stays the same after this event in any transition.
    func changesNoRow(_ event: DraftEvent) -> Bool {
        switch event {
        case .writeBegins, .truncationBegins, .writeFailed: phase != .written
        case .wrote, .truncated: true
        default: false
        }
    }

    // MARK: - Events

    /// Applies an event.
    /// - Parameter moment: Evaluated only if needed, which excludes writes.
    /// - Throws: `DraftRefusal`; the draft is then unchanged.
    mutating func apply(
        _ event: DraftEvent, at moment: @autoclosure () -> Moment
    ) throws(DraftRefusal) -> DraftTransition {
        switch event {
        case .opened(.reading): return openForReading()
        case .opened(.writing): return try openForWriting()
        case .writeBegins(let number, let thread): return try beginWrite(through: number, by: thread)
        case .truncationBegins(let size, let number, let thread):
            return try beginTruncation(to: size, through: number, by: thread)
        case .wrote(let size, let time): return try change(size: size, at: time)
        case .truncated(let size, let time): return try truncate(to: size, at: time)
        case .writeFailed(let size):
            guard acceptsWrites else { throw .impossible }
            return failWrite(size: size)
        case .flushed(let number, let close, let sequence): return flush(number, close, sequence, moment())
        case .released(let opening, let sequence): return try release(opening, sequence, moment())
        case .doubted(let reason): return doubt(reason)
        case .synchronised: return keepDurably()
        case .modifiedSet(let time):
            record.modified = time
            return DraftTransition(row: isStored ? .save(isDurable: false) : nil)
        case .captionSet(let caption): return try setCaption(caption)
        case .renamed(let name): return try rename(to: name, moment())
        case .replaced: return try replace()
        case .removed: return try remove()
        case .retryRequested: return retry(moment())
        case .returned(let name): return try comeBack(as: name, moment())
        case .started: return start()
        case .quietTimeOver(let period, let verdict): return endQuietTime(period, verdict)
        case .staged(let attempt, let staged): return queue(attempt, staged)
        case .stagingFailed(let attempt, let error): return stopStaging(attempt, error)
        case .deliveryBegins: return beginDelivery()
        case .accepted(let item): return try accept(item)
        case .refused(let refusal): return try refuse(refusal)
        case .backoffOver: return enqueueIfDeliverable()
        case .takenBack: return try endWithdrawal()
        case .acknowledged: return acknowledge()
        case .aged: return try age(moment())
        }
    }

    // MARK: - Handles

    private mutating func openForReading() -> DraftTransition {
        readers += 1
        var transition = DraftTransition(reply: .opened(DraftOpening(.reading, 0)))
        // Opening it before it is copied restarts the quiet time.
        if case .quiet = phase, record.reasonToStay == nil { transition.effects = [beginQuietTime()] }
        return transition
    }

    private mutating func openForWriting() throws(DraftRefusal) -> DraftTransition {
        var transition = DraftTransition()
        switch phase {
        case .writing, .written, .withdrawn, .removed: break
        case .quiet, .local, .staging, .failed: transition = becomeDraft()
        case .queued(let delivery):
            guard !delivery.mayBeHandedOver else { throw .notPermitted }
            transition = becomeDraft()
        case .sending, .sent, .acknowledged, .unsure, .recovered: throw .notPermitted
        }
        transition.reply = .opened(DraftOpening(.writing, writers.open()))
        return transition
    }

    /// A writer returns, so the queued version must not be sent, even after a power cut.
    private mutating func becomeDraft() -> DraftTransition {
        var transition = DraftTransition(effects: [.cancelQuietTime, .leaveDelivery])
        let staged = phase.staged
        transition.row = .save(isDurable: staged != nil || record.isDurable)
        if let staged { transition.effects.append(.removeStaged(staged)) }
        if staged != nil || record.problem != nil { transition.effects.append(.announce) }
        record.problem = nil
        phase = .writing
        return transition
    }

    private mutating func flush(
        _ number: Int, _ close: DescriptorClose, _ sequence: Int64, _ moment: Moment
    ) -> DraftTransition {
        guard close != .foreign, writers.openings[number] != nil else { return DraftTransition() }
        writers.flushed(number, close)
        guard phase == .writing || phase == .written else { return DraftTransition() }
        if close == .killed { record.gap = record.gap ?? .killedWriter }
        if writers.areFinished {
            record.sequence = sequence
            let transition = becomeComplete(moment)
            phase = .written
            return transition
        }
        guard close == .killed else { return DraftTransition() }
        // Reported at once, because other handles may stay open. The row no longer counts as complete.
        record.problem = record.problemOfStaying
        let row: RowChange = phase == .written ? .saveOrMark(isDurable: record.isDurable) : .saveIfPossible
        return DraftTransition(row: row, effects: [.announce])
    }

    private mutating func release(
        _ opening: DraftOpening, _ sequence: Int64, _ moment: Moment
    ) throws(DraftRefusal) -> DraftTransition {
        var transition = DraftTransition()
        switch opening.access {
        case .reading:
            guard readers > 0 else { throw .impossible }
            readers -= 1
        case .writing:
            guard writers.openings[opening.number] != nil else { throw .impossible }
            writers.close(opening.number)
            if writers.isEmpty, phase == .writing || phase == .written {
                // The place in the queue is that of the last flush, if there was one.
                if phase == .writing { record.sequence = sequence }
                transition = settle(moment)
            }
        }
        if isRemoved { transition.effects.append(.removeBytesIfUnused) }
        return transition
    }

    // MARK: - Bytes

    private mutating func beginWrite(
        through number: Int, by thread: Int32
    ) throws(DraftRefusal) -> DraftTransition {
        guard acceptsWrites else { throw .notPermitted }
        let isNewAttempt = writers.wrote(through: number, by: thread)
        if isNewAttempt, record.gap == .killedWriter { record.gap = nil }
        if writers.attempt > heldAttempt { record.hold = nil }
        record.isWanted = false
        return becomeUnfinished()
    }

    private mutating func beginTruncation(
        to size: UInt64, through number: Int?, by thread: Int32
    ) throws(DraftRefusal) -> DraftTransition {
        guard acceptsWrites else { throw .notPermitted }
        writers.truncated(to: size, through: number, by: thread)
        record.isWanted = false
        return becomeUnfinished()
    }

    /// Marks the row incomplete before bytes change. A power cut must not restore a row that would send them.
    private mutating func becomeUnfinished() -> DraftTransition {
        guard phase == .written else { return DraftTransition() }
        phase = .writing
        return DraftTransition(row: .save(isDurable: record.isDurable))
    }

    private mutating func failWrite(size: UInt64) -> DraftTransition {
        var transition = DraftTransition(effects: [.discardEarlyCopy])
        // Not even the start of the write was recorded, so the row still says complete.
        if phase == .written {
            phase = .writing
            transition.row = .saveOrMark(isDurable: record.isDurable)
        }
        record.gap = .failedWrite
        record.size = size
        record.isDurable = false
        return transition
    }

    private mutating func change(size: UInt64, at time: Timestamp) throws(DraftRefusal) -> DraftTransition {
        guard acceptsWrites, phase != .written else { throw .impossible }
        record.size = size
        record.modified = time
        record.isDurable = false
        return DraftTransition()
    }

    private mutating func truncate(to size: UInt64, at time: Timestamp) throws(DraftRefusal)
        -> DraftTransition
    {
        let old = record.size
        var transition = try change(size: size, at: time)
        if size < old { transition.effects.append(.discardEarlyCopy) }
        // An empty draft can be rewritten from the start.
        if size == 0 {
            record.gap = nil
            record.hold = nil
            if phase == .writing { transition.effects.append(.restartEarlyCopy) }
        }
        return transition
    }

    private mutating func keepDurably() -> DraftTransition {
        guard isStored else { return DraftTransition() }
        record.isDurable = true
        return DraftTransition(row: .save(isDurable: true))
    }

    // MARK: - Closed

    /// Marks the bytes as complete as far as known.
    private mutating func becomeComplete(_ moment: Moment) -> DraftTransition {
        var transition = DraftTransition()
        let problem = record.problem
        record.problem = record.problemOfStaying
        if problem != record.problem { transition.effects = [.announce] }
        // Usually recorded by the flush just before.
        if phase == .writing || problem != record.problem || record.touched != moment.uptime {
            record.boot = moment.boot
            record.touched = moment.uptime
            transition.row = .saveIfPossible
        }
        return transition
    }

    /// Starts the quiet time after the last writer, with a place in the queue if the draft will be sent.
    private mutating func settle(_ moment: Moment) -> DraftTransition {
        var transition = becomeComplete(moment)
        transition.effects += waitForQuiet()
        return transition
    }

    private mutating func waitForQuiet() -> [DraftEffect] {
        let place =
            record.reasonToStay == nil
            ? DraftEffect.reserveDelivery(sequence: record.sequence) : .leaveDelivery
        return [place, beginQuietTime()]
    }

    private mutating func beginQuietTime() -> DraftEffect {
        period += 1
        phase = .quiet(period: period)
        return .startQuietTime(period: period)
    }

    private mutating func endQuietTime(_ period: Int, _ verdict: DraftCompletion.Verdict) -> DraftTransition {
        guard phase == .quiet(period: period) else { return DraftTransition() }
        var transition = DraftTransition()
        switch verdict {
        // Local regardless of the evidence, until a rename.
        case _ where record.reasonByItself != nil && !record.isPart: break
        case .finished: transition = hold(nil)
        case .held(let reason): transition = hold(reason)
        // The folder of a part has its own quiet time.
        case .waits where record.isPart: transition = hold(nil)
        case .waits(let reason, let limit):
            transition = hold(reason)
            self.period += 1
            phase = .quiet(period: self.period)
            transition.effects += [.leaveDelivery, .waitForWriters(period: self.period, limit: limit)]
            return transition
        }
        guard record.reasonToStay == nil else {
            phase = .local
            transition.effects += [.discardEarlyCopy, .leaveDelivery]
            if record.isWorthTelling, !transition.effects.contains(.announce) {
                transition.effects.append(.announce)
            }
            transition.reply = record.isDurable ? .none : .makeDurable
            return transition
        }
        attempt += 1
        phase = .staging(attempt: attempt)
        transition.reply = .stage(attempt: attempt)
        return transition
    }

    /// Changes the reason why it is not sent.
    private mutating func hold(_ reason: HoldReason?) -> DraftTransition {
        heldAttempt = writers.attempt
        guard record.hold != reason else { return DraftTransition() }
        record.hold = reason
        record.problem = record.problemOfStaying
        return DraftTransition(row: .saveIfPossible, effects: [.announce])
    }

    /// Reported at once, because other handles may stay open. The row follows when it says complete.
    private mutating func doubt(_ reason: HoldReason) -> DraftTransition {
        guard phase == .writing || phase == .written, !record.isPart || !reason.isOfRunningProgram else {
            return DraftTransition()
        }
        guard record.hold == nil || !reason.isOfRunningProgram else { return DraftTransition() }
        return hold(reason)
    }

    private mutating func start() -> DraftTransition {
        switch phase {
        case .quiet:
            record.problem = record.problemOfStaying
            return DraftTransition(effects: waitForQuiet())
        default: return enqueueIfDeliverable()
        }
    }

    private func enqueueIfDeliverable() -> DraftTransition {
        isDeliverable
            ? DraftTransition(effects: [.enqueueDelivery(sequence: record.sequence)]) : DraftTransition()
    }

    // MARK: - Staging

    private mutating func queue(_ attempt: Int, _ staged: StagedFile) -> DraftTransition {
        guard isStaging(attempt) else { return DraftTransition() }
        phase = .queued(Delivery(staged: staged))
        record.problem = nil
        return DraftTransition(
            row: .save(isDurable: true),
            effects: [.enqueueDelivery(sequence: record.sequence), .announce], reply: .queued)
    }

    private mutating func stopStaging(_ attempt: Int, _ error: OutboxError) -> DraftTransition {
        guard isStaging(attempt) else { return DraftTransition() }
        record.problem = error.sentence
        var transition = DraftTransition(effects: [.leaveDelivery, .announce])
        if error.code == .damaged {
            record.gap = .failedWrite
            phase = .local
        } else {
            phase = .quiet(period: period)
            transition.reply = .retryStaging(period: period)
        }
        return transition
    }

    // MARK: - Delivery

    private mutating func beginDelivery() -> DraftTransition {
        if case .withdrawn = phase, isDeliverable { return DraftTransition(reply: .lookForItem) }
        guard case .queued(let delivery) = phase else { return DraftTransition() }
        phase = .sending(delivery)
        return DraftTransition(effects: [.announce], reply: .handOver(delivery))
    }

    private mutating func accept(_ item: ItemID) throws(DraftRefusal) -> DraftTransition {
        switch phase {
        case .sending(let delivery):
            phase = .sent(item)
            record.problem = nil
            // After a crash before this row, the core returns the same item for a repeated delivery.
            return DraftTransition(
                row: .saveIfPossible, effects: [.removeStaged(delivery.staged)], reply: .becameItem)
        case .withdrawn(let withdrawal):
            return DraftTransition(effects: endHandingOver(withdrawal), reply: .withdrawItem)
        default: throw .impossible
        }
    }

    private mutating func refuse(_ refusal: DeliveryRefusal) throws(DraftRefusal) -> DraftTransition {
        switch phase {
        case .sending(let delivery):
            record.problem = refusal.sentence
            var transition = DraftTransition(row: .saveIfPossible, effects: [.announce])
            switch refusal.consequence {
            case .unsure: phase = .unsure(delivery.staged)
            case .failed: phase = .failed(delivery.staged)
            case .unfit where !delivery.mayBeHandedOver: phase = .failed(delivery.staged)
            // If it became `failed` and were rewritten, the core would return the item of the old content.
            case .unfit: transition.reply = postpone(delivery, mayBeHandedOver: nil)
            case .retry(let mayBeHandedOver):
                transition.reply = postpone(delivery, mayBeHandedOver: mayBeHandedOver)
            }
            return transition
        case .withdrawn(let withdrawal): return refuse(refusal, withdrawal)
        default: throw .impossible
        }
    }

    /// - Parameter mayBeHandedOver: Nil keeps the value of before this try.
    private mutating func postpone(_ delivery: Delivery, mayBeHandedOver: Bool?) -> DraftReply {
        var delivery = delivery
        delivery.tries += 1
        delivery.mayBeHandedOver = mayBeHandedOver ?? delivery.mayBeHandedOver
        phase = .queued(delivery)
        return .retryDelivery(tries: delivery.tries)
    }

    // MARK: - Withdrawal

    /// Handles a refusal for a draft that was removed meanwhile, or a failed query for its item.
    private mutating func refuse(_ refusal: DeliveryRefusal, _ withdrawal: Withdrawal) -> DraftTransition {
        let effects = endHandingOver(withdrawal)
        switch refusal.consequence {
        // The core has no item, or its state is unknown and no item can be deleted.
        case .failed, .unsure, .retry(mayBeHandedOver: false): return removeWithdrawn(effects)
        case .unfit, .retry:
            let tries = withdrawal.tries + 1
            phase = .withdrawn(Withdrawal(tries: tries))
            return DraftTransition(effects: effects, reply: .retryDelivery(tries: tries))
        }
    }

    /// The core answered, so the staged file is its own or useless.
    private mutating func endHandingOver(_ withdrawal: Withdrawal) -> [DraftEffect] {
        phase = .withdrawn(Withdrawal(tries: withdrawal.tries))
        return withdrawal.staged.map { [.removeStaged($0)] } ?? []
    }

    private mutating func endWithdrawal() throws(DraftRefusal) -> DraftTransition {
        guard case .withdrawn(let withdrawal) = phase else { throw .impossible }
        return removeWithdrawn(endHandingOver(withdrawal))
    }

    /// If a power cut restores the row, the core is only asked again.
    private mutating func removeWithdrawn(_ effects: [DraftEffect]) -> DraftTransition {
        phase = .removed
        return DraftTransition(row: .delete(isDurable: false), effects: effects)
    }

    // MARK: - Acknowledgement

    private mutating func acknowledge() -> DraftTransition {
        guard case .sent(let item) = phase else { return DraftTransition() }
        phase = .acknowledged(item)
        return DraftTransition(
            row: .delete(isDurable: false), effects: [.removeBytes], reply: .forgotten)
    }

    // MARK: - User events

    private mutating func rename(to name: [UInt8], _ moment: Moment) throws(DraftRefusal) -> DraftTransition {
        guard state == .draft else { throw .notPermitted }
        record.name = name
        record.touched = moment.uptime
        if case .refusedRename = record.hold { record.hold = nil }
        // A running copy has the old name.
        var transition = writers.isEmpty ? settle(moment) : DraftTransition()
        transition.row = .save(isDurable: false)
        return transition
    }

    private mutating func setCaption(_ caption: String) throws(DraftRefusal) -> DraftTransition {
        guard [.draft, .queued, .failed].contains(state) else { throw .notPermitted }
        record.caption = caption
        return DraftTransition(row: .save(isDurable: false))
    }

    /// Its bytes are deleted next, so a power cut must not restore its row.
    private mutating func replace() throws(DraftRefusal) -> DraftTransition {
        guard state == .draft else { throw .notPermitted }
        return vanish(row: .delete(isDurable: record.isDurable))
    }

    private mutating func remove() throws(DraftRefusal) -> DraftTransition {
        switch phase {
        case .sent, .acknowledged, .withdrawn, .removed: throw .notPermitted
        case .writing, .written, .quiet, .local, .staging, .recovered:
            return vanish(row: .delete(isDurable: record.isDurable))
        case .queued(let delivery) where delivery.mayBeHandedOver:
            return withdraw(Withdrawal(), effects: [.removeStaged(delivery.staged)])
        case .sending(let delivery): return withdraw(Withdrawal(staged: delivery.staged), effects: [])
        case .queued, .failed, .unsure:
            // A power cut must not restore a row that would send it.
            return vanish(row: .delete(isDurable: true))
        }
    }

    /// Keeps the row until the core's possible item is withdrawn.
    private mutating func withdraw(_ withdrawal: Withdrawal, effects: [DraftEffect]) -> DraftTransition {
        phase = .withdrawn(withdrawal)
        let place = isDeliverable ? DraftEffect.enqueueDelivery(sequence: record.sequence) : .leaveDelivery
        return DraftTransition(
            row: .save(isDurable: true),
            effects: [.discardEarlyCopy, .cancelQuietTime] + effects + [place, .removeBytesIfUnused],
            reply: .forgotten)
    }

    /// Removes the draft with all its files.
    private mutating func vanish(row: RowChange) -> DraftTransition {
        var effects: [DraftEffect] = [
            .discardEarlyCopy, .cancelQuietTime, .leaveDelivery, .removeBytesIfUnused,
        ]
        if let staged = phase.staged { effects.append(.removeStaged(staged)) }
        phase = .removed
        return DraftTransition(row: row, effects: effects, reply: .forgotten)
    }

    private mutating func retry(_ moment: Moment) -> DraftTransition {
        switch phase {
        case .quiet where record.canBeWanted, .local where record.canBeWanted:
            record.isWanted = true
            record.gap = nil
            record.hold = nil
            var transition = settle(moment)
            transition.row = .save(isDurable: false)
            transition.reply = .willRetry
            return transition
        case .failed(let staged), .unsure(let staged):
            let isUnsure = state == .unsure
            phase = .queued(Delivery(staged: staged, isConfirmed: isUnsure, mayBeHandedOver: isUnsure))
            record.problem = nil
            return DraftTransition(
                row: .save(isDurable: true),
                effects: [.enqueueDelivery(sequence: record.sequence), .announce], reply: .willRetry)
        default: return DraftTransition()
        }
    }

    /// Sends a recovered draft as it is, in its chat.
    private mutating func comeBack(as name: [UInt8], _ moment: Moment) throws(DraftRefusal) -> DraftTransition
    {
        guard phase == .recovered else { throw .notPermitted }
        record.name = name
        record.isWanted = true
        record.gap = nil
        record.hold = nil
        record.boot = moment.boot
        var transition = settle(moment)
        transition.row = .save(isDurable: false)
        transition.reply = .willRetry
        return transition
    }

    private mutating func age(_ moment: Moment) throws(DraftRefusal) -> DraftTransition {
        guard let expiry = dueExpiry(at: moment.uptime) else { return DraftTransition() }
        var transition: DraftTransition
        switch expiry {
        case .removal: transition = try remove()
        case .recovery:
            phase = .recovered
            record.touched = moment.uptime
            record.problem = record.problemOnceRecovered
            transition = DraftTransition(row: .save(isDurable: false), effects: [.cancelQuietTime])
        }
        transition.reply = .expired(expiry)
        return transition
    }
}
