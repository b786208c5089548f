/// What a core tells without being asked; names of the chat API. Order between files does not
/// matter, of one file it does.
public enum ChatEvent: Sendable {
    /// Received items, and items that this profile sent by another way than this process.
    case newChatItems([ChatItem])
    case chatItemUpdated(ChatItem)
    case chatItemsDeleted([(chat: ChatReference, item: ItemID)], DeletionReason)
    /// A chat is new, renamed, or changed whether it can be sent into.
    case chatUpdated(Chat)
    /// The user has deleted a chat; its items are gone already.
    case chatRemoved(ChatReference)
    /// The log of a chat has a line more, or words were taken out of it (`TextKeeping`).
    case messageLogGrew(ChatReference, MessageLog)
    case rcvFileDescrReady(ChatItem)
    case rcvFileAccepted(ChatItem)
    case rcvFileStart(ChatItem)
    case rcvFileProgressXFTP(FileProgress)
    case rcvFileComplete(ChatItem)
    case rcvFileSndCancelled(ChatItem)
    case rcvFileError(ChatItem, FileProblem)
    case rcvFileWarning(ChatItem, FileProblem)
    case sndFileStart(ChatItem)
    case sndFileProgressXFTP(FileProgress)
    case sndFileCompleteXFTP(ChatItem)
    /// Inline sends: complete with the message.
    case sndFileComplete(ChatItem)
    case sndFileRcvCancelled(ChatItem)
    case sndFileError(ChatItem, FileProblem)
    case sndFileWarning(ChatItem, FileProblem)
    /// How far a standalone upload or download is, in bytes of the encrypted file.
    case standaloneFileProgress(FileID, done: UInt64, total: UInt64)
    /// It could not go on, and is tried again.
    case standaloneFileWarning(FileID, FileProblem)
    /// A standalone upload is done: links for its recipients.
    case sndStandaloneFileComplete(FileID, links: [String])
    case rcvStandaloneFileComplete(FileID, path: String)
    case sndStandaloneFileError(FileID, FileProblem)
    case rcvStandaloneFileError(FileID, FileProblem)
    /// The core, or everybody whom it reaches over the network, cannot be reached for now; why, a sentence. Commands that
    /// need them fail. Who begins to listen meanwhile is told so first.
    case coreUnreachable(String)
    /// It can be reached again: what failed for that reason is worth another try.
    case coreReachable
    /// A messaging server inside this machine's own network, by its address, was not connected to: somebody else named it,
    /// and what goes to them waits until the user approves it.
    case serverRefused(String)
    /// Somebody asks to become a contact or invites into a group, or one who did was answered (`AddressKeeping.requests`).
    case requestsChanged
    /// A text without a file has arrived, at a core that keeps no logs (`TextKeeping`).
    case textArrived(ChatItem)
}

/// Why items are gone.
public enum DeletionReason: Hashable, Sendable {
    /// By the user or by the sender, or nobody knows.
    case deleted
    /// A disappearing message whose time is over.
    case disappeared
    /// Taken away by a moderator of the group.
    case moderated
}
