import ChatCore

/// The entry of a notification: a message with a file, a draft, a text, a request or a new contact.
public enum NotifiedEntry: Hashable, Sendable {
    case item(ItemID)
    case draft(Int64)
    case text(TextReference)
    /// Number of the request (`WaitingRequest`).
    case request(Int64)
    case contact(ChatReference)

    /// A short word for the record.
    var word: String {
        switch self {
        case .item(let id): "\(id.rawValue)"
        case .draft(let id): "draft-\(id)"
        case .text(let text): "text-\(text.chat)-\(text.word)"
        case .request(let number): "request-\(number)"
        case .contact(let chat): "contact-\(chat)"
        }
    }
}

/// The subject of a notification. Texts come from other people, with any length and any characters.
public struct NotifiedFile: Hashable, Sendable {
    /// The noun for the file.
    public enum Kind: Hashable, Sendable {
        case file, picture, video, voice
    }

    public var entry: NotifiedEntry
    /// nil for requests at the address.
    public var chat: ChatReference?
    /// Name of the chat's folder.
    public var chatName: String
    /// Name of the file, or of the invitation's group.
    public var name: String
    /// Name of the sender; empty for own files, and where the chat tells.
    public var sender: String
    /// The caption, or the text itself.
    public var caption: String
    public var kind: Kind
    /// True if the message has a preview.
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

    /// True if a click opens the file in its program. Viewers of these kinds do not execute content.
    var isShownByClick: Bool { kind != .file }
}
