import ChatCore

/// A change of a draft that was not made through it.
public enum OutboxChange: Sendable {
    /// The state or the problem changed.
    case changed(Draft)
    /// The core has taken it as this item. The outbox keeps that until `Outbox.acknowledge`.
    case became(Draft, ChatItem)
    /// Removed: empty and untouched for seven days, or its item was deleted before it was reported.
    case removed(Draft)
    /// Moved to the recovered files because it was untouched.
    case recovered(Draft)
}
