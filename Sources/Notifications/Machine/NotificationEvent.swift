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

/// What is told of: a message with a file, or a file that is being sent.
public enum NotifiedEntry: Hashable, Sendable {
    case item(ItemID)
    case draft(Int64)
}

/// A file that users are told of. Texts are those of others, of any length and with any characters.
public struct NotifiedFile: Hashable, Sendable {
    public var entry: NotifiedEntry
    public var chat: ChatReference
    /// As the folder is called.
    public var chatName: String
    public var name: String
    /// Who sent it; empty for own files.
    public var sender: String
    /// What was written with it.
    public var caption: String

    public init(
        _ entry: NotifiedEntry, in chat: ChatReference, named chatName: String, name: String,
        sender: String = "", caption: String = ""
    ) {
        self.entry = entry
        self.chat = chat
        self.chatName = chatName
        self.name = name
        self.sender = sender
        self.caption = caption
    }
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

/// Something that happened.
public enum NotificationEvent: Hashable, Sendable {
    /// At `time` by the message.
    case arrived(NotifiedFile, time: Timestamp)
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
    /// What was wrong with it is no more: it may be told of anew.
    case recovered(NotifiedEntry)
    /// It is there no more.
    case gone(NotifiedEntry)
    /// Files that nobody has opened, in the other mounts of this user.
    case unreadElsewhere(Int)
}

/// What a notification is about.
public enum NotificationSubject: Int, Hashable, Sendable, CaseIterable {
    case arrival, approval, failure, expiry, refusal, hold, keys
}

/// What the user wants by a button.
public enum NotificationAction: Hashable, Sendable {
    /// Receive from these relays.
    case approve([String])
    case retry([NotifiedEntry])
    /// What is held back goes out as it is.
    case send([NotifiedEntry])
    /// What is held back goes.
    case discard([NotifiedEntry])
    case keep([NotifiedEntry])
}
