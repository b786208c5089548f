import Base
import ChatCore

/// Events of a draft.
enum DraftEvent: Sendable {
    // Events of users.
    case opened(DraftAccess)
    /// A write through a handle starts, by a thread (0 if unknown).
    case writeBegins(opening: Int, thread: Int32)
    /// A truncation starts, through a handle, or by name (nil).
    case truncationBegins(to: UInt64, opening: Int?, thread: Int32)
    case wrote(size: UInt64, at: Timestamp)
    case truncated(size: UInt64, at: Timestamp)
    /// A write or truncation failed; `size` is the length now.
    case writeFailed(size: UInt64)
    /// A descriptor of a handle is closed. `sequence`: the next number in the order of closes.
    case flushed(opening: Int, DescriptorClose, sequence: Int64)
    case released(DraftOpening, sequence: Int64)
    /// Evidence that the draft may be unfinished, found while it is written.
    case doubted(HoldReason)
    /// The spool file and its name are durable.
    case synchronised
    case modifiedSet(Timestamp)
    case captionSet(String)
    case renamed([UInt8])
    /// Another draft takes its name.
    case replaced
    case removed
    case retryRequested
    /// The user sends a recovered draft, in its chat, under this name.
    case returned([UInt8])

    // Events of the outbox.
    /// The outbox starts with a draft from its journal.
    case started
    /// The quiet time ended, with the verdict of the evidence.
    case quietTimeOver(period: Int, DraftCompletion.Verdict = .finished)
    case staged(attempt: Int, StagedFile)
    case stagingFailed(attempt: Int, OutboxError)
    /// The draft is first in its chat's delivery queue.
    case deliveryBegins
    case accepted(ItemID)
    case refused(DeliveryRefusal)
    case backoffOver
    /// It was removed, and the core has no item of it, or no longer.
    case takenBack
    /// Its node was recorded as the item's.
    case acknowledged
    /// Hourly check for expired drafts.
    case aged
}

/// Inputs of a transition besides the draft.
struct Moment: Sendable {
    /// `Uptime` in seconds.
    var uptime: Int64
    /// Boot id of the machine.
    var boot: String
}
