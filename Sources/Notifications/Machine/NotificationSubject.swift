import ChatCore

/// What a notification is about; the raw values are words of the command line (`--silence`).
public enum NotificationSubject: String, Hashable, Sendable, CaseIterable {
    case arrival = "files"
    case approval = "approvals"
    case failure = "failures"
    case expiry
    case refusal = "refusals"
    case hold = "unfinished"
    case keys
    case text = "texts"
    case connection = "contacts"
    case request = "requests"
    case invitation = "invitations"
    case stop = "stops"

    /// Whether it is about what came, which counts as unread.
    var isArrival: Bool { self == .arrival || self == .text }
}

/// What the user wants by a click or a button.
public enum NotificationAction: Hashable, Sendable {
    /// Receive from these relays.
    case approve([String])
    case retry([NotifiedEntry])
    /// What is held back goes out as it is.
    case send([NotifiedEntry])
    /// What is held back goes.
    case discard([NotifiedEntry])
    case keep([NotifiedEntry])
    /// In its program.
    case open(NotifiedEntry)
    /// Selected in the folder of their chat.
    case show([NotifiedEntry])
    case showFolder(ChatReference)
    /// Who asks becomes a contact, or this profile a member.
    case accept(Int64)
    case reject(Int64)
    /// Nothing of the chat counts as unread any more.
    case markRead(ChatReference)
}

/// What can be done about a notification.
struct OfferedActions: Hashable, Sendable {
    /// What a click on it does; nil: nothing.
    var click: NotificationAction?
    /// In their order, three at most.
    var buttons: [NotificationAction] = []

    static let none = OfferedActions()
    static let maxButtons = 3

    /// - Parameter number: 0 is the click, 1 the first button.
    subscript(number: Int) -> NotificationAction? {
        if number == 0 { return click }
        return buttons.indices.contains(number - 1) ? buttons[number - 1] : nil
    }
}
