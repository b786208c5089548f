import Base
import ChatCore

/// The timing of notifications (`--notifications`).
public enum NotificationMode: String, CaseIterable, Sendable {
    /// At once.
    case instant
    /// Every 20 minutes, except refusals, which are only useful at once.
    case periodic
    case off
}

/// The content of notifications, which others may see on the screen (`--notification-previews`).
public enum NotificationPreview: String, CaseIterable, Sendable {
    /// Chat, sender, file name and caption.
    case message
    /// Only the chat.
    case contact
    /// Only that something happened.
    case hidden
}

/// A refusal by ChatFS that an errno does not explain.
public struct RefusedRequest: Hashable, Sendable {
    /// A sentence without names that gives reason and remedy.
    public var sentence: String
    /// The subject, such as a program or a file name.
    public var subject: String?
    /// Name of the chat's folder.
    public var chatName: String?
    /// Address of a server that the user may approve.
    public var server: String?
    /// The setting that a button may change.
    public var remedy: RefusalRemedy?
    /// Replaces the title that names a refusal.
    public var title: String?

    public init(
        _ sentence: String, subject: String? = nil, chatName: String? = nil, server: String? = nil,
        remedy: RefusalRemedy? = nil, title: String? = nil
    ) {
        self.remedy = remedy
        self.server = server
        self.title = title
        self.sentence = sentence
        self.subject = subject
        self.chatName = chatName
    }
}

extension RefusedRequest {
    /// The notice after an unexpected end of the mount's process.
    static let stopped = RefusedRequest(
        "The mount ended unexpectedly and has restarted. A file that was being copied in may be in .chatfs/recovered."
    )

    static let notShown = RefusedRequest(
        "No desktop program opens files for ChatFS: look in the folder of the chat.")
}

/// An event for notifications.
public enum NotificationEvent: Hashable, Sendable {
    /// A file arrived; `time` is the message's.
    case arrived(NotifiedFile, time: Timestamp)
    /// A text arrived without a file. `end`: offset in bytes of the end of its line in the chat's log.
    case wrote(NotifiedFile, end: UInt64)
    /// A contact is connected; `at` is the time of its last message, or of the connection.
    case connected(ChatReference, named: String, at: Timestamp)
    /// A contact request, or an invitation to a group (`NotifiedFile.name`).
    case asked(NotifiedFile)
    /// The numbers of all pending requests; all others were answered.
    case waitingRequests(Set<Int64>)
    /// An earlier process of this mount ended without unmounting, and this process continues.
    case stopped
    /// A file waits for the approval of relays. `relays`: known addresses. `warning`: an additional sentence.
    /// `isAttempt`: a read was attempted, so the notification is repeated.
    case awaitsApproval(NotifiedFile, relays: [String], warning: String = "", isAttempt: Bool = false)
    /// `why`: a sentence. `mayRetry`: a retry cannot send the file twice.
    case sendingFailed(NotifiedFile, why: String, mayRetry: Bool)
    /// The file may be unfinished and is not sent automatically. `why`: a sentence.
    case held(NotifiedFile, why: String)
    /// The relay deletes the file at that time.
    case expires(NotifiedFile, at: Timestamp)
    case refused(RefusedRequest)
    /// The security code of a verified contact changed.
    case keysChanged(ChatReference, named: String)
    /// The user confirmed the contact's keys.
    case keysKnown(ChatReference)
    /// The entry was opened.
    case opened(NotifiedEntry)
    /// The user saw all arrivals of a chat, or marked them as read.
    case seen(ChatReference)
    /// The user read the texts of a chat.
    case readTexts(ChatReference)
    /// A program, possibly a file manager, listed the chat's folder.
    case listed(ChatReference)
    /// The entry's problem is solved; a new one is notified again.
    case recovered(NotifiedEntry)
    /// The file is here and expires no more.
    case received(NotifiedEntry)
    /// The entry is gone.
    case gone(NotifiedEntry)
    /// Number of unopened files in the user's other mounts.
    case unreadElsewhere(Int)
}
