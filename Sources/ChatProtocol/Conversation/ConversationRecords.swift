import Base

/// Stored data of a chat that decides the effects of a message. Reads and writes for one message must be in
/// one transaction.
public protocol ConversationRecords {
    /// Error type of the store.
    associatedtype Failure: Error = Never

    /// Returns a message's record; nil if it is unknown.
    func message(_ key: MessageKey) throws(Failure) -> MessageRecord?

    /// Whether a message with this id was processed.
    func isSeen(_ key: MessageKey) throws(Failure) -> Bool

    /// Returns the state of a partial description.
    func description(of key: MessageKey) throws(Failure) -> PartialDescription?

    /// Returns all received parts of a description, concatenated.
    func descriptionText(of key: MessageKey) throws(Failure) -> String

    /// Returns the number of descriptions, complete or not, of missing messages.
    /// - Parameter author: nil counts all authors.
    func waitingDescriptions(by author: Author?) throws(Failure) -> Int

    /// Returns the state of an inline transfer. nil if chunks are not accepted: not requested, complete or
    /// failed.
    func transfer(of key: MessageKey) throws(Failure) -> InlineTransfer?

    /// Returns an author's messages with unrequested, incomplete inline files, oldest first.
    func unaskedTransfers(by author: Author) throws(Failure) -> [MessageKey]

    /// Returns a member; nil if unknown.
    func member(_ id: MemberID) throws(Failure) -> GroupMember?

    /// Returns the phase of this profile's own connection with a member; nil without one.
    func connection(with id: MemberID) throws(Failure) -> MemberConnection.Phase?
}

/// Stored data of a message.
public struct MessageRecord: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case present
        /// Known only by an update; the message and its file may still come.
        case onlyChanged
        /// Deleted by its author or a moderator, before or after its arrival.
        case deleted
    }

    public var time: Timestamp
    public var state: State
    /// Whether it offers a file.
    public var hasFile: Bool

    public init(time: Timestamp, state: State = .present, hasFile: Bool) {
        self.time = time
        self.state = state
        self.hasFile = hasFile
    }
}

/// Another member of a group, as far as known.
public struct GroupMember: Hashable, Sendable {
    public enum Status: String, Hashable, Sendable {
        /// Known only from a forwarded message.
        case heardOf
        case joined
        case left
        case removed

        var isInside: Bool { self == .heardOf || self == .joined }
    }

    public var id: MemberID
    public var role: MemberRole
    public var profile: ContactProfile
    public var status: Status
    /// Whether moderators have blocked it; its messages are not shown.
    public var isBlocked: Bool
    /// The member that announced this newcomer and may forward its link once; nil otherwise.
    public var announcer: MemberID?

    public init(
        id: MemberID, role: MemberRole, profile: ContactProfile, status: Status = .joined,
        isBlocked: Bool = false, announcer: MemberID? = nil
    ) {
        self.id = id
        self.role = role
        self.profile = profile
        self.status = status
        self.isBlocked = isBlocked
        self.announcer = announcer
    }

    /// The host, as named by an invitation. Stored with the group.
    public init(host: MemberReference, profile: ContactProfile) {
        self.init(id: host.id, role: host.role, profile: profile)
    }
}
