/// The text of a notification as sent to the service.
public struct NotificationText: Hashable, Sendable {
    /// Urgency levels of the service.
    public enum Urgency: UInt8, Hashable, Sendable {
        case low, normal, critical
    }

    /// One line of plain text.
    public var summary: String
    /// Contains markup if the service interprets it.
    public var body: String
    /// Button labels in order.
    public var buttons: [String] = []
    /// True if a click has an action.
    public var isClickable = false
    /// True if it replaces a notification already seen and needs no attention.
    public var isQuiet = false
    public var urgency: Urgency = .normal
    /// A category of the Desktop Notifications Specification.
    public var category = "transfer"
    /// True if it names the relays to approve.
    var namesRelays = false
    /// The message whose picture is shown.
    var pictureOf: NotifiedFile?

    /// The summary of texts without a name.
    static let application = "ChatFS"
    static let maxSummary = 200
    static let maxBody = 2400
}
