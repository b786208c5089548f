import Base

/// A chat of a profile, as listed.
public struct Chat: Hashable, Sendable {
    public var reference: ChatReference
    /// Name to display. Not unique; may contain any character.
    public var displayName: String
    /// Time of its last item, or of its creation.
    public var updatedAt: Timestamp
    /// Why sending is impossible now (EACCES with this sentence); nil if possible.
    public var sendingRefused: String?
    /// Why nothing arrives now, with a remedy; nil if messages may arrive.
    public var receivingProblem: String?
    /// Why sent messages wait now, with a remedy; nil if they do not wait.
    public var sendingProblem: String?
    /// Whether the user chose the display name, which its folder then has too.
    public var isNamedByUser: Bool
    /// For contacts: whether the user verified the security code.
    public var verification: ContactVerification
    /// The actions for which the core has the means; see `actions`.
    public var supportedActions: Set<ChatAction>

    public init(
        reference: ChatReference, displayName: String, updatedAt: Timestamp, sendingRefused: String? = nil,
        receivingProblem: String? = nil, sendingProblem: String? = nil, isNamedByUser: Bool = false,
        verification: ContactVerification = .unverified, supportedActions: Set<ChatAction> = .all
    ) {
        self.reference = reference
        self.displayName = displayName
        self.updatedAt = updatedAt
        self.sendingRefused = sendingRefused
        self.receivingProblem = receivingProblem
        self.sendingProblem = sendingProblem
        self.isNamedByUser = isNamedByUser
        self.verification = verification
        self.supportedActions = supportedActions
    }
}

extension Chat {
    /// The actions that are possible now, in a fixed order.
    public var actions: [ChatAction] {
        ChatAction.allCases.filter {
            supportedActions.contains($0) && (sendingRefused == nil || !$0.sends)
        }
    }

    /// Problems to show to the user, one sentence each.
    public var problems: [String] {
        [receivingProblem, sendingProblem, verification.warning].compactMap(\.self)
    }
}

/// The profile whose chats a core provides.
public struct Profile: Hashable, Sendable {
    public var id: Int64
    public var displayName: String

    public init(id: Int64, displayName: String) {
        self.id = id
        self.displayName = displayName
    }
}
