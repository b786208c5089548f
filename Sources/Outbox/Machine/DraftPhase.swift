import ChatCore

/// The state of a draft. The journal's state (`stored`) and the users' (`state`) are projections of it.
/// `docs/dev/draft-states.md` lists the transitions.
enum DraftPhase: Hashable, Sendable {
    /// Open for writing; the row says that bytes may be missing.
    case writing
    /// Open for writing; the row says complete, because each handle was closed once since its last write.
    case written
    /// Without a writer. The quiet time runs, or staging is retried; only the timer of `period` may end it.
    case quiet(period: Int)
    /// Closed and quiet, but not sent automatically (`DraftRecord.reasonToStay`).
    case local
    /// Being copied into a CryptoFile. Changes make the copy useless.
    case staging(attempt: Int)
    /// Durable and complete; in the delivery queue or waiting for a retry.
    case queued(Delivery)
    /// Being handed over; the core may have it.
    case sending(Delivery)
    /// The core has it; the item's node is not yet recorded.
    case sent(ItemID)
    /// The item has taken its place; row and bytes are deleted.
    case acknowledged(ItemID)
    /// The core refused it permanently.
    case failed(StagedFile)
    /// The core may or may not have it.
    case unsure(StagedFile)
    /// Left by a process that died, or incomplete and untouched; never sent automatically.
    case recovered
    /// Removed when the core might have it; the core's item is withdrawn, by the next process if necessary.
    case withdrawn(Withdrawal)
    /// Removed or replaced; its bytes are deleted after the last use.
    case removed
}

/// State of the delivery of a staged draft.
struct Delivery: Hashable, Sendable {
    var staged: StagedFile
    /// The user confirmed sending although it may have been sent before.
    var isConfirmed = false
    /// An earlier try was interrupted or had no clear result. The core would return the old item for new
    /// content.
    var mayBeHandedOver = false
    /// Failed tries since it was queued.
    var tries = 0
}

/// State of the withdrawal of a possible item.
struct Withdrawal: Hashable, Sendable {
    /// The file in a running delivery. The core is asked only after that has ended.
    var staged: StagedFile?
    /// Failed tries to withdraw.
    var tries = 0
}

// MARK: - Stored state

/// State of a row of the journal.
enum StoredState: Hashable, Sendable {
    /// A write may be in progress.
    case open
    /// Complete as far as known: no writer, or each handle was closed since its last write.
    case closed
    case queued(StagedFile, isConfirmed: Bool)
    case sent(ItemID)
    case failed(StagedFile)
    case unsure(StagedFile)
    case recovered
    /// Removed, and the core may still have it.
    case withdrawn

    var staged: StagedFile? {
        switch self {
        case .queued(let staged, _), .failed(let staged), .unsure(let staged): staged
        case .open, .closed, .sent, .recovered, .withdrawn: nil
        }
    }
}

extension DraftPhase {
    /// State of the row; nil without a row.
    var stored: StoredState? {
        switch self {
        case .writing: .open
        case .written, .quiet, .local, .staging: .closed
        case .queued(let delivery), .sending(let delivery):
            .queued(delivery.staged, isConfirmed: delivery.isConfirmed)
        case .sent(let item): .sent(item)
        case .failed(let staged): .failed(staged)
        case .unsure(let staged): .unsure(staged)
        case .recovered: .recovered
        case .withdrawn: .withdrawn
        case .acknowledged, .removed: nil
        }
    }

    /// The phase of a draft restored from a trusted row.
    init(restoring stored: StoredState) {
        switch stored {
        case .open, .recovered: self = .recovered
        case .closed: self = .quiet(period: 0)
        case .queued(let staged, let isConfirmed):
            // The earlier process may have handed it over without recording that.
            self = .queued(Delivery(staged: staged, isConfirmed: isConfirmed, mayBeHandedOver: true))
        case .sent(let item): self = .sent(item)
        case .failed(let staged): self = .failed(staged)
        case .unsure(let staged): self = .unsure(staged)
        case .withdrawn: self = .withdrawn(Withdrawal())
        }
    }

    /// The CryptoFile in the staging folder.
    var staged: StagedFile? {
        switch self {
        case .queued(let delivery), .sending(let delivery): delivery.staged
        case .failed(let staged), .unsure(let staged): staged
        case .withdrawn(let withdrawal): withdrawal.staged
        case .writing, .written, .quiet, .local, .staging, .sent, .acknowledged, .recovered, .removed: nil
        }
    }
}

// MARK: - State for users

extension DraftPhase {
    var state: DraftState {
        switch self {
        case .writing, .written, .quiet, .local, .staging: .draft
        case .queued: .queued
        case .sending: .sending
        case .sent, .acknowledged: .sent
        case .failed: .failed
        case .unsure: .unsure
        case .recovered: .recovered
        case .withdrawn, .removed: .removed
        }
    }
}

extension DraftPhase {
    /// Returns nil if the draft waits for its user, or for nothing.
    var wait: DraftWait? {
        switch self {
        case .writing, .written: .writer
        case .quiet, .staging: .quietTime
        case .queued: .turn
        case .sending, .sent: .core
        case .local, .acknowledged, .failed, .unsure, .recovered, .withdrawn, .removed: nil
        }
    }
}
