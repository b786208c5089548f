/// An action on a whole chat. A core lists those that it can carry out (`Chat.supportedActions`), so that menus offer no
/// other. The raw values are in `user.chatfs.actions`; those of methods of the control socket are their names.
public enum ChatAction: String, CaseIterable, Sendable {
    /// Sends files.
    case upload
    /// Sends texts without a file.
    case sendText = "send_text"
    /// Reads the log of messages.
    case messages
    /// Arrivals count as unread.
    case markRead = "mark_read"
    /// Arrivals are notified.
    case mute
    /// Files come from relays, which the user may have to approve.
    case approve
    /// Files can be received before a reader wants them.
    case keep
    /// The core deletes copies of received files while their messages stay.
    case free

    fileprivate static let every = Set(allCases)

    var sends: Bool { self == .upload || self == .sendText }
}

extension Set<ChatAction> {
    public static var all: Set<ChatAction> { ChatAction.every }
}
