import Base
import ChatCore

/// When users are told (`--notifications`).
public enum NotificationMode: String, CaseIterable, Sendable {
    /// As soon as something happens.
    case instant
    /// What happened, every 20 minutes. What users were just refused they are told at once: later it would explain
    /// nothing.
    case periodic
    case off
}

/// What a notification may say to who sees the screen (`--notification-previews`).
public enum NotificationPreview: String, CaseIterable, Sendable {
    /// Chat, sender, name of the file, and what was written with it.
    case message
    /// Only which chat.
    case contact
    /// Only that something happened.
    case hidden
}

/// What users were refused by ChatFS, where an errno does not say why.
public struct RefusedRequest: Hashable, Sendable {
    /// A sentence without names: why, and what helps.
    public var sentence: String
    /// What it was about: a program, the name of a file.
    public var subject: String?
    /// As its folder is called.
    public var chatName: String?
    /// The address of a server that the user may approve.
    public var server: String?

    public init(
        _ sentence: String, subject: String? = nil, chatName: String? = nil, server: String? = nil
    ) {
        self.server = server
        self.sentence = sentence
        self.subject = subject
        self.chatName = chatName
    }
}

extension RefusedRequest {
    /// What is told of a mount whose process has ended by itself.
    static let stopped = RefusedRequest(
        "It ended without unmounting and runs again now. A file that was being copied in may be in .chatfs/recovered."
    )

    static let notShown = RefusedRequest(
        "Nothing on this desktop opens files for ChatFS: look in the folder of the chat.")
}

/// Something that happened.
public enum NotificationEvent: Hashable, Sendable {
    /// At `time` by the message.
    case arrived(NotifiedFile, time: Timestamp)
    /// A text without a file. `end`: where its line ends in the log of its chat, in bytes.
    case wrote(NotifiedFile, end: UInt64)
    /// A contact has become connected.
    case connected(ChatReference, named: String)
    /// Somebody asks to become a contact, or a contact invites into a group (`NotifiedFile.name`).
    case asked(NotifiedFile)
    /// The numbers of all requests that still wait: the others were answered.
    case waitingRequests(Set<Int64>)
    /// An earlier process of this mount has ended without unmounting, and this one goes on.
    case stopped
    /// Addresses of its relays, where they are known; a sentence about them that goes with these, or nothing.
    /// `isAttempt`: somebody has just tried to read it, so it is told again.
    case awaitsApproval(NotifiedFile, relays: [String], warning: String = "", isAttempt: Bool = false)
    /// Why, a sentence. `mayRetry`: sending it once more cannot make two of it.
    case sendingFailed(NotifiedFile, why: String, mayRetry: Bool)
    /// It may be unfinished and is not sent by itself; why, a sentence.
    case held(NotifiedFile, why: String)
    /// Its relay lets it go at that time.
    case expires(NotifiedFile, at: Timestamp)
    case refused(RefusedRequest)
    /// The security code of a contact is not the one that the user has verified.
    case keysChanged(ChatReference, named: String)
    /// What the user knows of the contact's keys is true.
    case keysKnown(ChatReference)
    /// Somebody has opened it.
    case opened(NotifiedEntry)
    /// Somebody has read all that came to a chat, or says so.
    case seen(ChatReference)
    /// Somebody has read the texts of a chat.
    case readTexts(ChatReference)
    /// A program has listed the folder of a chat; it may be the window of a file manager.
    case listed(ChatReference)
    /// What was wrong with it is no more: it may be told of anew.
    case recovered(NotifiedEntry)
    /// It is there no more.
    case gone(NotifiedEntry)
    /// Files that nobody has opened, in the other mounts of this user.
    case unreadElsewhere(Int)
}
