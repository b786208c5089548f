/// Events of a core. Events of one file come in order; there is no order between files.
public enum ChatEvent: Sendable {
    /// Received items, and items that this profile sent from elsewhere.
    case newChatItems([ChatItem])
    case itemChanged(ChatItem, ItemChange)
    case fileProgress(FileProgress)
    case chatItemsDeleted([(chat: ChatReference, item: ItemID)], DeletionReason)
    /// A chat is new, renamed, or has changed whether it accepts messages.
    case chatUpdated(Chat)
    /// The user deleted a chat. Its items are already gone.
    case chatRemoved(ChatReference)
    /// A chat's log got another line or a blanked one (`TextKeeping`).
    case messageLogGrew(ChatReference, MessageLog)
    /// Progress of a standalone transfer, in encrypted bytes.
    case standaloneFileProgress(FileID, done: UInt64, total: UInt64)
    /// A temporary failure; the transfer will be retried.
    case standaloneFileWarning(FileID, FileProblem)
    /// A standalone upload is complete; links for its recipients.
    case sndStandaloneFileComplete(FileID, links: [String])
    case rcvStandaloneFileComplete(FileID, path: String)
    case sndStandaloneFileError(FileID, FileProblem)
    case rcvStandaloneFileError(FileID, FileProblem)
    /// The core or all its servers are unreachable for now, with the reason and its error. Commands that need
    /// them fail. A new listener gets this event first while it lasts.
    case coreUnreachable(String, cause: (any Error)? = nil)
    /// The core is reachable again; failed commands may be retried.
    case coreReachable
    /// A messaging server inside this machine's own network, named by another person, was not contacted. Its
    /// messages wait for the user's approval.
    case serverRefused(String)
    /// A contact request or group invitation arrived or was answered (`AddressKeeping.requests`).
    case requestsChanged
    /// Texts expired, or an official core deleted them. A deletion by a peer of the embedded core is a line of the log
    /// instead.
    case textsGone([TextReference])
    /// A text without a file arrived at an official core. Of its chats only a phone's have logs (`TextKeeping`), which old
    /// texts make grow too.
    case textArrived(ChatItem)
}

/// Why an item changed. The item's direction says which way its file goes.
public enum ItemChange: Hashable, Sendable {
    /// Its message changed, or its file for another reason.
    case updated
    /// The description of its file is complete.
    case described
    /// Its file was requested.
    case accepted
    /// The transfer of its file started.
    case started
    /// The transfer of its file is complete.
    case completed
    /// The other side cancelled the transfer.
    case cancelledByPeer
    /// The transfer failed.
    case failed(FileProblem)
    /// The transfer failed for now; the core retries it.
    case delayed(FileProblem)
}

/// Reason of a deletion.
public enum DeletionReason: Hashable, Sendable {
    /// Deleted by the user or the sender, or unknown.
    case deleted
    /// Expired.
    case disappeared
    /// Deleted by a group's moderator.
    case moderated
}
