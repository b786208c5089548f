import ChatCore

/// What is told of: a message with a file, a file that is being sent, a text, somebody who asks, or a new contact.
public enum NotifiedEntry: Hashable, Sendable {
    case item(ItemID)
    case draft(Int64)
    /// By the id that its line in the log has.
    case text(String)
    /// By its number (`WaitingRequest`).
    case request(Int64)
    case contact(ChatReference)

    /// Short, for the file of what was told.
    var word: String {
        switch self {
        case .item(let id): "\(id.rawValue)"
        case .draft(let id): "draft-\(id)"
        case .text(let id): "text-\(id)"
        case .request(let number): "request-\(number)"
        case .contact(let chat): "contact-\(chat)"
        }
    }
}

/// What users are told of. Texts are those of others, of any length and with any characters.
public struct NotifiedFile: Hashable, Sendable {
    /// What it is called in a sentence.
    public enum Kind: Hashable, Sendable {
        case file, picture, video, voice
    }

    public var entry: NotifiedEntry
    /// Nil of who asks at the address.
    public var chat: ChatReference?
    /// As the folder is called.
    public var chatName: String
    /// Of the file, or of the group of an invitation.
    public var name: String
    /// Who sent it; empty for own files, and where the chat says it.
    public var sender: String
    /// What was written with it, or the text itself.
    public var caption: String
    public var kind: Kind
    /// Its message carries a picture of it.
    public var hasPreview: Bool

    public init(
        _ entry: NotifiedEntry, in chat: ChatReference?, named chatName: String, name: String,
        sender: String = "", caption: String = "", kind: Kind = .file, hasPreview: Bool = false
    ) {
        self.entry = entry
        self.chat = chat
        self.chatName = chatName
        self.name = name
        self.sender = sender
        self.caption = caption
        self.kind = kind
        self.hasPreview = hasPreview
    }

    /// A click shows it in its program: what programs for it show without doing what it says.
    var isShownByClick: Bool { kind != .file }
}
