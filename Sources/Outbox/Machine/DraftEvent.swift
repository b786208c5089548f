import Base
import ChatCore

/// What happens to a draft.
enum DraftEvent: Sendable {
    // Its users.
    case opened(DraftAccess)
    /// Bytes are about to be written through an opening, by a thread (0 when the kernel does not say which).
    case writeBegins(opening: Int, thread: Int32)
    /// Its length is about to be set, through an opening, or by its name (nil).
    case truncationBegins(to: UInt64, opening: Int?, thread: Int32)
    case wrote(size: UInt64, at: Timestamp)
    case truncated(size: UInt64, at: Timestamp)
    /// A write or truncation did not get all in; `size` is what is there.
    case writeFailed(size: UInt64)
    /// A descriptor of an opening is closed. `sequence`: the next number in the order of closes.
    case flushed(opening: Int, DescriptorClose, sequence: Int64)
    case released(DraftOpening, sequence: Int64)
    /// While it is written it is known already that it may be unfinished.
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
    /// Its user wants what was recovered to be sent, in its chat, under this name.
    case returned([UInt8])

    // The outbox.
    /// The outbox goes on with what it found in its journal.
    case started
    /// With what follows from the evidence.
    case quietTimeOver(period: Int, DraftCompletion.Verdict = .finished)
    case staged(attempt: Int, StagedFile)
    case stagingFailed(attempt: Int, OutboxError)
    /// It is first in the delivery queue of its chat.
    case deliveryBegins
    case accepted(ItemID)
    case refused(DeliveryRefusal)
    case backoffOver
    /// It was removed, and the core has nothing of it, or no more.
    case takenBack
    /// Its node has been noted as the item's.
    case acknowledged
    /// An hour has passed: what was left alone for long enough goes.
    case aged
}

/// What a transition depends on besides the draft.
struct Moment: Sendable {
    /// Seconds of `Uptime`.
    var uptime: Int64
    /// Which boot of the machine this is.
    var boot: String
}
