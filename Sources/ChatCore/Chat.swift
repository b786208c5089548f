import Base

/// One chat of a profile, as a list of chats shows it.
public struct Chat: Hashable, Sendable {
    public var reference: ChatReference
    /// Name to show; not unique, may hold any character.
    public var displayName: String
    /// When its last item arrived, or when it was made.
    public var updatedAt: Timestamp
    /// Why nothing can be sent into it at present (EACCES with this sentence), nil when it can.
    public var sendingRefused: String?
    /// Why nothing comes out of it at present, and what helps; nil when something may.
    public var receivingProblem: String?
    /// Why what is sent into it waits at present, and what helps; nil when nothing does, or nothing can be sent.
    public var sendingProblem: String?
    /// Whether the user chose the name to show: then its folder has it too.
    public var isNamedByUser: Bool
    /// Whether the user has compared its security code; of contacts.
    public var verification: ContactVerification

    public init(
        reference: ChatReference, displayName: String, updatedAt: Timestamp, sendingRefused: String? = nil,
        receivingProblem: String? = nil, sendingProblem: String? = nil, isNamedByUser: Bool = false,
        verification: ContactVerification = .unverified
    ) {
        self.reference = reference
        self.displayName = displayName
        self.updatedAt = updatedAt
        self.sendingRefused = sendingRefused
        self.receivingProblem = receivingProblem
        self.sendingProblem = sendingProblem
        self.isNamedByUser = isNamedByUser
        self.verification = verification
    }
}

extension Chat {
    /// What the user should know of it though nobody has asked, a sentence each.
    public var problems: [String] {
        [receivingProblem, sendingProblem, verification.warning].compactMap(\.self)
    }
}

/// The profile whose chats a core shows.
public struct Profile: Hashable, Sendable {
    public var id: Int64
    public var displayName: String

    public init(id: Int64, displayName: String) {
        self.id = id
        self.displayName = displayName
    }
}
