import Base
import ChatCore
import Glibc
import Posix

/// What all drafts of an outbox share: where they are kept, and what waits for them.
final class DraftContext: Sendable {
    let journal: Journal
    let spool: Spool
    let staging: StagingFolder
    let quietTime: QuietTime
    let deliveries: DeliveryQueue
    let clock: any WallClock
    let uptime: Uptime
    private let limits: ChatLimits
    let earlyCopies: EarlyCopySlots
    /// Who writes drafts at present.
    let writers: WriterRegistry
    let changes = Broadcaster<OutboxChange>()
    /// Two KiB or so for each draft.
    let freeMemory = FreeMemory(after: 2048)
    let log = Log("outbox")
    /// Which boot of the machine this is: what was closed in an earlier one and never synchronised may
    /// have lost bytes to a power cut.
    let boot: String
    /// Called at the moments at which the process may die; a test stops the world there.
    let step: @Sendable (OutboxStep) -> Void

    init(
        journal: Journal, spool: Spool, staging: StagingFolder, quietTime: QuietTime,
        deliveries: DeliveryQueue, clock: any WallClock, uptime: Uptime, limits: ChatLimits, boot: String,
        earlyCopies: EarlyCopySlots, writers: WriterRegistry, step: @escaping @Sendable (OutboxStep) -> Void
    ) {
        self.journal = journal
        self.spool = spool
        self.staging = staging
        self.quietTime = quietTime
        self.deliveries = deliveries
        self.clock = clock
        self.uptime = uptime
        self.limits = limits
        self.boot = boot
        self.earlyCopies = earlyCopies
        self.writers = writers
        self.step = step
    }

    var moment: Moment { Moment(uptime: uptime.seconds, boot: boot) }

    /// The largest draft that `chat` takes, in bytes: local notes have no limit.
    func maxFileSize(in chat: ChatReference) -> UInt64 {
        limits.maxFileSize(in: chat) ?? UInt64(Int64.max)
    }

    // MARK: - Transitions

    /// Takes prepared transitions to their end, all of their rows in one transaction. Under the mutexes of their
    /// drafts. Blocks.
    /// - Parameter durably: whatever the transitions say, their rows survive a power cut.
    /// - Throws: `noSpace`, `storage`; then nothing has happened.
    func perform(_ prepared: [PreparedTransition], durably: Bool = false) throws(OutboxError) {
        try writeRows(of: prepared, durably: durably)
        for one in prepared { one.draft.commit(one.machine) }
        for one in prepared { one.draft.perform(one.transition.effects) }
    }

    private func writeRows(of prepared: [PreparedTransition], durably: Bool) throws(OutboxError) {
        var (saved, removed): ([Journal.Entry], [Int64]) = ([], [])
        var (isDurable, isRequired) = (durably, false)
        for one in prepared {
            guard let row = one.transition.row else { continue }
            switch row {
            case .delete(let durable):
                removed.append(one.draft.id)
                isDurable = isDurable || durable
                isRequired = true
                continue
            case .save(let durable):
                isDurable = isDurable || durable
                isRequired = true
            case .saveIfPossible: break
            case .saveOrMark(let durable): isDurable = isDurable || durable
            }
            if let stored = one.machine.phase.stored {
                saved.append(Journal.Entry(one.machine.record, stored))
            }
        }
        if saved.isEmpty && removed.isEmpty { return }
        step(.writesRows)
        do {
            try journal.apply(saved, removing: removed, durably: isDurable)
        } catch {
            if isRequired { throw OutboxError(beneath: error) }
            // It only matters after a crash.
            log.warning("a change of a draft could not be noted: \(Base.sentence(of: error))")
            for one in prepared {
                if case .saveOrMark = one.transition.row { one.draft.noteRow(isRight: false) }
            }
            return
        }
        for one in prepared where one.transition.row != nil { one.draft.noteRow(isRight: true) }
        step(.wroteRows)
    }
}
