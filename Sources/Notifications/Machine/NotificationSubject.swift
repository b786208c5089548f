import ChatCore

/// The subject of a notification; the raw values are words of `--silence`.
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

    /// True for arrivals, which count as unread.
    var isArrival: Bool { self == .arrival || self == .text }
}

/// The action of a click or a button.
public enum NotificationAction: Hashable, Sendable {
    /// Approve receiving from these relays.
    case approve([String])
    case retry([NotifiedEntry])
    /// Send held files as they are.
    case send([NotifiedEntry])
    /// Discard held files.
    case discard([NotifiedEntry])
    case keep([NotifiedEntry])
    /// Open it in its program.
    case open(NotifiedEntry)
    /// Select them in their chat's folder.
    case show([NotifiedEntry])
    case showFolder(ChatReference)
    /// Accept a contact request or a group invitation.
    case accept(Int64)
    case reject(Int64)
    /// Mark all arrivals of the chat as read.
    case markRead(ChatReference)
    /// Permit the refused operation.
    case permit(RefusalRemedy)
}

/// The actions of a notification.
struct OfferedActions: Hashable, Sendable {
    /// The click's action; nil for none.
    var click: NotificationAction?
    /// In order, three at most.
    var buttons: [NotificationAction] = []

    static let none = OfferedActions()
    static let maxButtons = 3

    /// - Parameter number: 0 for the click, 1 for the first button.
    subscript(number: Int) -> NotificationAction? {
        if number == 0 { return click }
        return buttons.indices.contains(number - 1) ? buttons[number - 1] : nil
    }
}
