import Base

/// An effect of a message. The caller stores all effects in order and in one transaction with the
/// conversation's state, and then acknowledges the message.
public enum ConversationEffect: Hashable, Sendable {
    /// A new message.
    case received(IncomingMessage)
    /// A message known only by an update has arrived: stores its file and time, but keeps the newer content.
    case completed(IncomingMessage)
    /// New content. If `isNew`, the message itself is missing and may never come.
    case changed(MessageKey, MessageUpdate, at: Timestamp, isNew: Bool)
    /// Deletes a message for good, even if it arrives later. Keeps a received file if its author deletes the
    /// message without full deletion.
    case deleted(MessageKey, at: Timestamp, DeletedBy)
    case reacted(MessageKey, emoji: String, by: Author, isAdded: Bool)
    /// Stores another description part, even if its message is still missing. The first part replaces earlier
    /// ones. Secret.
    case descriptionGrew(MessageKey, PartialDescription, DescriptionPart)
    /// The message's file can be downloaded. Secret.
    case described(MessageKey, text: String)
    /// The sender cancelled the file.
    case fileCancelled(MessageKey)
    /// The recipient has requested this profile's inline file.
    case fileAccepted(SharedMessageID)
    /// An inline file's chunks follow; accept them.
    case transferBegan(MessageKey)
    /// Stores a chunk; the last one completes the file.
    case transferGrew(MessageKey, InlineTransfer, bytes: [UInt8])
    /// The inline file has failed for good.
    case transferFailed(MessageKey, InlineTransfer.Failure)
    /// The contact changed its profile.
    case profileChanged(ContactProfile)
    case groupProfileChanged(GroupProfile)
    /// A member is new or changed.
    case memberChanged(GroupMember)
    /// Create a link for a member, to be sent through its introducer. Comes before a new member.
    case memberIntroduced(MemberID, by: MemberID)
    /// Join a newcomer's link. Comes before a new member. Secret.
    case newcomerInvites(MemberID, link: String, by: MemberID)
    /// End this profile's connection with a member, if any.
    case memberGone(MemberID)
    /// A member forwarded a message that came directly; tell it to stop.
    case passedOnNeedlessly(by: MemberID, from: MemberID)
    /// Deletes all messages of a member.
    case messagesOfMemberDeleted(MemberID)
    /// A contact's group invitation. Secret.
    case invitedToGroup(GroupInvitation)
    /// Ends the chat; its contents stay.
    case ended(ChatEnd)
    /// Records a message id, so that repetitions have no effect.
    case seen(MessageKey)
    /// The sender expects a receipt.
    case receiptDue
}

public enum DeletedBy: Hashable, Sendable {
    /// Recipients see the deletion, but keep received files.
    case author
    /// The chat allows full deletion.
    case authorInFull
    case moderator
}

/// Reason for the end of a chat.
public enum ChatEnd: Hashable, Sendable {
    case contactDeletedIt
    case removedFromGroup
    case groupDeleted
    case refusedByGroup
}

/// A received message.
public struct IncomingMessage: Hashable, Sendable {
    public var key: MessageKey
    public var message: NewMessage
    /// Time of arrival at the server; for a forwarded message, at the forwarder's server.
    public var time: Timestamp
    /// Whether its author is blocked; it is stored but not shown.
    public var isHidden: Bool

    public init(_ key: MessageKey, _ message: NewMessage, at time: Timestamp, isHidden: Bool = false) {
        self.key = key
        self.message = message
        self.time = time
        self.isHidden = isHidden
    }
}
