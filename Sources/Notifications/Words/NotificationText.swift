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
    /// Words of its button; nil for none.
    public var button: String?
    /// Of one beside it; nil for none.
    public var secondButton: String?
    public var urgency: Urgency
    /// Of the Desktop Notifications Specification.
    public var category: String
    /// Whether it says which relays would be approved.
    var namesRelays = false

    static let maxSummary = 200
    static let maxBody = 2400

    public init(
        summary: String, body: String, button: String? = nil, urgency: Urgency = .normal,
        category: String = "transfer"
    ) {
        self.summary = summary
        self.body = body
        self.button = button
        self.urgency = urgency
        self.category = category
    }
}
