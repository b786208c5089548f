import ChatCore

/// The state of a draft: the one place where it is kept. What the journal stores (`stored`) and what users see
/// (`state`) are projections. `docs/dev/draft-states.md` lists the transitions.
enum DraftPhase: Hashable, Sendable {
    /// Open for writing; its row says that bytes may be missing.
    case writing
    /// Open for writing; its row says that it is complete: every descriptor was closed once since the last write.
    case written
    /// Nobody writes it. The quiet time runs, or staging failed and is tried again; `period` tells which timer
    /// may end it.
    case quiet(period: Int)
    /// Closed and quiet, and not sent by itself: `DraftRecord.reasonToStay`.
    case local
    /// Being copied into a CryptoFile. What changes it meanwhile makes that copy worthless.
    case staging(attempt: Int)
    /// Durable and complete, waits in the delivery queue or for the next try.
    case queued(Delivery)
    /// The core may have it at any moment from now on.
    case sending(Delivery)
    /// The core has it, and nobody has noted yet which item it is.
    case sent(ItemID)
    /// The item has taken its place; row and bytes are gone.
    case acknowledged(ItemID)
    /// The core refused it for good.
    case failed(StagedFile)
    /// It cannot be known whether the core has it.
    case unsure(StagedFile)
    /// Left over from a process that died, or incomplete and left alone: never sent.
    case recovered
    /// Removed when the core may have it: what it has is taken back, also by the next process.
    case withdrawn(Withdrawal)
    /// Removed or replaced; its bytes go with the last who uses them.
    case removed
}

/// What is known about handing a staged draft to the core.
struct Delivery: Hashable, Sendable {
    var staged: StagedFile
    /// The user said that it is to be sent though it may have been sent before.
    var isConfirmed = false
    /// An attempt was cut off by the end of the process, or ended without a clear answer: the core would answer a
    /// new content with the item of the old one.
    var mayBeHandedOver = false
    /// Tries that failed since it was queued.
    var tries = 0
}

/// What is known about taking back what the core may have.
struct Withdrawal: Hashable, Sendable {
    /// What the core is being given at this moment: nothing is asked before it has answered.
    var staged: StagedFile?
    /// Tries to take it back that failed.
    var tries = 0
}

// MARK: - What is stored

/// State of a row of the journal.
enum StoredState: Hashable, Sendable {
    /// Somebody is in the middle of writing.
    case open
    /// What is there is complete, as far as can be known: nobody has it open for writing, or all who have
    /// closed a descriptor since they wrote last.
    case closed
    case queued(StagedFile, isConfirmed: Bool)
    case sent(ItemID)
    case failed(StagedFile)
    case unsure(StagedFile)
    case recovered
    /// Removed, and perhaps still with the core.
    case withdrawn

    var staged: StagedFile? {
        switch self {
        case .queued(let staged, _), .failed(let staged), .unsure(let staged): staged
        case .open, .closed, .sent, .recovered, .withdrawn: nil
        }
    }
}

extension DraftPhase {
    /// What its row says, nil when it has none.
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

    /// The phase in which a new process finds a draft whose row it trusts.
    init(restoring stored: StoredState) {
        switch stored {
        case .open, .recovered: self = .recovered
        case .closed: self = .quiet(period: 0)
        case .queued(let staged, let isConfirmed):
            // The process before may have handed it over and died before it noted that.
            self = .queued(Delivery(staged: staged, isConfirmed: isConfirmed, mayBeHandedOver: true))
        case .sent(let item): self = .sent(item)
        case .failed(let staged): self = .failed(staged)
        case .unsure(let staged): self = .unsure(staged)
        case .withdrawn: self = .withdrawn(Withdrawal())
        }
    }

    /// The CryptoFile that lies in the staging folder for it.
    var staged: StagedFile? {
        switch self {
        case .queued(let delivery), .sending(let delivery): delivery.staged
        case .failed(let staged), .unsure(let staged): staged
        case .withdrawn(let withdrawal): withdrawal.staged
        case .writing, .written, .quiet, .local, .staging, .sent, .acknowledged, .recovered, .removed: nil
        }
    }
}

// MARK: - What users see

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
