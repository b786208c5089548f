import Base

/// What follows from a message. Whoever gets these stores all of them in one transaction, in their order, together with
/// the state of the conversation, and acknowledges the message afterwards.
public enum ConversationEffect: Hashable, Sendable {
    /// A message is new.
    case received(IncomingMessage)
    /// The message that was known only by a change has come: its file and time are now known, its content is the older.
    case completed(IncomingMessage)
    /// Another content. Of a message that is not here (`isNew`) it is all that there will be.
    case changed(MessageKey, MessageUpdate, at: Timestamp, isNew: Bool)
    /// To be forgotten, and never shown when it should come later; its file too, except of one that is here where only
    /// its author deletes it and the chat does not let them do so in full.
    case deleted(MessageKey, at: Timestamp, DeletedBy)
    case reacted(MessageKey, emoji: String, by: Author, isAdded: Bool)
    /// A part to be kept until the rest comes, also of a message that is not here yet. The first one takes the place of
    /// what was there. A secret.
    case descriptionGrew(MessageKey, PartialDescription, DescriptionPart)
    /// The file of a message can be fetched. A secret.
    case described(MessageKey, text: String)
    /// Its author has taken the file back.
    case fileCancelled(MessageKey)
    /// A file of this profile that was offered within messages is wanted.
    case fileAccepted(SharedMessageID)
    /// The file of a message follows it chunk by chunk: they are to be taken.
    case transferBegan(MessageKey)
    /// The next chunk of a file that comes within messages; with the last one all of it is here.
    case transferGrew(MessageKey, InlineTransfer, bytes: [UInt8])
    /// The file cannot be had any more.
    case transferFailed(MessageKey, InlineTransfer.Failure)
    /// The other one of a chat of two is called otherwise, or looks otherwise.
    case profileChanged(ContactProfile)
    case groupProfileChanged(GroupProfile)
    /// What is known of a member changed, or it is new.
    case memberChanged(GroupMember)
    /// A link is to be made for a member, and told to who introduced them.
    case memberIntroduced(MemberID, by: MemberID)
    /// A newcomer's link is to be joined. A secret.
    case newcomerInvites(MemberID, link: String, by: MemberID)
    /// This profile's connection with a member, if there is one, is not needed any more, or not with who it should be.
    case memberGone(MemberID)
    /// Somebody passes on what came from its author directly: they are to be told that they need not.
    case passedOnNeedlessly(by: MemberID, from: MemberID)
    /// What a member wrote is to be deleted.
    case messagesOfMemberDeleted(MemberID)
    /// The contact invites this profile into a group. A secret.
    case invitedToGroup(GroupInvitation)
    /// The chat takes nothing any more; what it holds stays.
    case ended(ChatEnd)
    /// To be remembered, so that it does nothing when it comes again.
    case seen(MessageKey)
    /// The sender wants to know that it has come.
    case receiptDue
}

public enum DeletedBy: Hashable, Sendable {
    /// The others are to see that it was deleted, and keep what they have of it.
    case author
    /// Where the chat allows full deletion.
    case authorInFull
    case moderator
}

/// Why a chat has ended.
public enum ChatEnd: Hashable, Sendable {
    case contactDeletedIt
    case removedFromGroup
    case groupDeleted
    case refusedByGroup
}

/// A message as it is shown.
public struct IncomingMessage: Hashable, Sendable {
    public var key: MessageKey
    public var message: NewMessage
    /// When its server got it, or, of one that was passed on, the server of who did.
    public var time: Timestamp
    /// Its author is blocked: it is kept, and not shown.
    public var isHidden: Bool

    public init(_ key: MessageKey, _ message: NewMessage, at time: Timestamp, isHidden: Bool = false) {
        self.key = key
        self.message = message
        self.time = time
        self.isHidden = isHidden
    }
}
