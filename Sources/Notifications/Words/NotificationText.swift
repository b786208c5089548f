/// What a notification says, as it goes to the service.
public struct NotificationText: Hashable, Sendable {
    /// How it is shown.
    public enum Urgency: UInt8, Hashable, Sendable {
        case low, normal, critical
    }

    /// One line of plain text.
    public var summary: String
    /// With markup where the service reads it.
    public var body: String
    /// Words of its buttons, in their order.
    public var buttons: [String]
    /// A click on it does something.
    public var isClickable = false
    /// It takes the place of one that the user has seen, and needs no attention.
    public var isQuiet = false
    public var urgency: Urgency
    /// Of the Desktop Notifications Specification.
    public var category: String
    /// Whether it says which relays would be approved.
    var namesRelays = false
    /// The message whose picture is shown with it.
    var pictureOf: NotifiedFile?

    /// Where a text names nobody.
    static let application = "ChatFS"
    static let maxSummary = 200
    static let maxBody = 2400

    public init(
        summary: String, body: String, buttons: [String] = [], urgency: Urgency = .normal,
        category: String = "transfer"
    ) {
        self.summary = summary
        self.body = body
        self.buttons = buttons
        self.urgency = urgency
        self.category = category
    }
}
