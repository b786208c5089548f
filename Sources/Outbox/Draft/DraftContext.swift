import Base
import ChatCore
import Glibc
import Posix

/// Shared parts of all drafts of an outbox: storage and queues.
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
    /// Returns the form in which the core expects a long file of a chat, by its name.
    private let form: @Sendable (ChatReference, String) -> StreamForm?
    /// Processes that write drafts.
    let writers: WriterRegistry
    let changes = Broadcaster<OutboxChange>()
    /// About 2 KiB per draft.
    let freeMemory = FreeMemory(after: 2048)
    let log = Log("outbox")
    /// Boot id of the machine. Drafts closed in an earlier boot and never synchronised may have lost bytes in
    /// a power cut.
    let boot: String
    /// Called at each point where a crash matters; tests stop there.
    let step: @Sendable (OutboxStep) -> Void

    init(
        journal: Journal, spool: Spool, staging: StagingFolder, quietTime: QuietTime,
        deliveries: DeliveryQueue, clock: any WallClock, uptime: Uptime, limits: ChatLimits, boot: String,
        earlyCopies: EarlyCopySlots, streamForm: @escaping @Sendable (ChatReference, String) -> StreamForm?,
        writers: WriterRegistry, step: @escaping @Sendable (OutboxStep) -> Void
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
        form = streamForm
        self.writers = writers
        self.step = step
    }

    var moment: Moment { Moment(uptime: uptime.seconds, boot: boot) }

    /// Maximum size of a draft in `chat`, in bytes. Local notes have no limit.
    func maxFileSize(in chat: ChatReference) -> UInt64 {
        limits.maxFileSize(in: chat) ?? UInt64(Int64.max)
    }

    /// Returns the form in which the core expects a long draft.
    func streamForm(of record: DraftRecord) -> StreamForm? {
        form(record.chat, String(decoding: record.name, as: UTF8.self))
    }

    // MARK: - Transitions

    /// Completes prepared transitions, with all rows in one transaction. Called with the mutexes of the
    /// drafts held. Blocks.
    /// - Parameter durably: If true, the rows survive a power cut even if no transition needs it.
    /// - Throws: `noSpace`, `storage`; the drafts are then unchanged.
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
            // The row matters only after a crash.
            log.warning("draft row not written: error=\(Base.sentence(of: error))")
            for one in prepared {
                if case .saveOrMark = one.transition.row { one.draft.noteRow(isRight: false) }
            }
            return
        }
        for one in prepared where one.transition.row != nil { one.draft.noteRow(isRight: true) }
        step(.wroteRows)
    }
}
