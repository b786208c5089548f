import Base

/// What is stored of one chat, as far as it decides what follows from a message. The answers hold while one message is
/// taken in: read and write in one transaction.
public protocol ConversationRecords {
    /// Why it cannot be known: what the store throws.
    associatedtype Failure: Error = Never

    /// A message that was received, changed or deleted; nil of one that nobody has heard of.
    func message(_ key: MessageKey) throws(Failure) -> MessageRecord?

    /// Whether a message of this id was taken in, whatever it was about.
    func isSeen(_ key: MessageKey) throws(Failure) -> Bool

    /// As far as a description is here.
    func description(of key: MessageKey) throws(Failure) -> PartialDescription?

    /// All parts of a description that are here, one after the other.
    func descriptionText(of key: MessageKey) throws(Failure) -> String

    /// Descriptions, whole or not, of messages that are not here.
    /// - Parameter author: nil: of all.
    func waitingDescriptions(by author: Author?) throws(Failure) -> Int

    /// As far as the file of a message is here that comes within messages. nil where its chunks are not taken: nobody
    /// has asked for it, it is here, or it failed.
    func transfer(of key: MessageKey) throws(Failure) -> InlineTransfer?

    /// The messages of one author whose files come unasked and are not here, the oldest first.
    func unaskedTransfers(by author: Author) throws(Failure) -> [MessageKey]

    /// nil of one that nobody has told of.
    func member(_ id: MemberID) throws(Failure) -> GroupMember?

    /// How far this profile's own connection with a member is; nil where there is none.
    func connection(with id: MemberID) throws(Failure) -> MemberConnection.Phase?
}

/// What has to be known of a message.
public struct MessageRecord: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case present
        /// It came as a change of a message that is not here; the message itself, with its file, may still come.
        case onlyChanged
        /// Its author or a moderator has deleted it, before it came or afterwards.
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

/// Another member of a group, as far as this one has heard of it.
public struct GroupMember: Hashable, Sendable {
    public enum Status: Hashable, Sendable {
        /// Only known because somebody passed on what it wrote.
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
    /// What it writes is not shown: those who look after the group want it so.
    public var isBlocked: Bool
    /// Who announced a newcomer, and alone may pass on its link, once; nil of everybody else.
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

    /// Who took this profile in, as the invitation names them: to be stored with the group.
    public init(host: MemberReference, profile: ContactProfile) {
        self.init(id: host.id, role: host.role, profile: profile)
    }
}
