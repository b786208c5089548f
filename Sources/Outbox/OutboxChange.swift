import ChatCore

/// What happened to a draft without its user doing it through the draft.
public enum OutboxChange: Sendable {
    /// Its state or its problem is another one.
    case changed(Draft)
    /// The core has taken it: from now on it is this item. The outbox remembers that until
    /// `Outbox.acknowledge` says that the node has been noted as the item's.
    case became(Draft, ChatItem)
    /// It is gone: empty and left alone for seven days, or its item was deleted before anybody learned of it.
    case removed(Draft)
    /// It was left alone: it has moved to what is recovered.
    case recovered(Draft)
}
