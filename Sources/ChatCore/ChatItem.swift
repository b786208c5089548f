import Base

/// A message of a chat. ChatFS shows those with a file.
public struct ChatItem: Hashable, Sendable {
    public enum Direction: String, Hashable, Sendable {
        case sent
        case received
    }

    public var id: ItemID
    public var chat: ChatReference
    public var direction: Direction
    /// Display name of the sender.
    public var sender: String
    /// Server time (received) or creation time (sent). Becomes the file's mtime.
    public var time: Timestamp
    public var content: MessageContent
    public var file: ChatFile?
    /// Whether the message has a preview, even if `content` omits it (`ChatReading.preview`).
    public var hasPreview: Bool
    /// Whether only a group's moderators and one member see it.
    public var isForModerators: Bool
    /// Whether its sender deleted the message while its file is here.
    public var isDeletedBySender: Bool

    /// - Parameter hasPreview: nil if `content` contains any preview.
    public init(
        id: ItemID, chat: ChatReference, direction: Direction, sender: String, time: Timestamp,
        content: MessageContent, file: ChatFile?, hasPreview: Bool? = nil, isForModerators: Bool = false,
        isDeletedBySender: Bool = false
    ) {
        self.isForModerators = isForModerators
        self.isDeletedBySender = isDeletedBySender
        self.hasPreview = hasPreview ?? !content.preview.isEmpty
        self.id = id
        self.chat = chat
        self.direction = direction
        self.sender = sender
        self.time = time
        self.content = content
        self.file = file
    }
}

/// Content of a message besides its file (`msgContent` of the chat API).
public struct MessageContent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case text
        case file
        /// `preview` is a data URI of at most 14,000 characters; empty without one.
        case image(preview: String)
        case video(preview: String, seconds: Int)
        case voice(seconds: Int)
    }

    public var kind: Kind
    /// The caption, or the message itself.
    public var text: String

    /// The data URI of an image or video; empty without one.
    public var preview: String {
        switch kind {
        case .image(let preview), .video(let preview, _): preview
        case .text, .file, .voice: ""
        }
    }

    public init(kind: Kind, text: String = "") {
        self.kind = kind
        self.text = text
    }
}

/// The file of an item (`CIFile` of the chat API).
public struct ChatFile: Hashable, Sendable {
    /// Transport of the file's bytes.
    public enum Transport: String, Hashable, Sendable {
        case inline
        case xftp
        case smp
        case local
    }

    public var id: FileID
    /// Name given by the sender; not sanitised.
    public var name: String
    /// Plaintext size in bytes.
    public var size: UInt64
    public var status: FileStatus
    public var transport: Transport
    /// Location of the local file; readable if `status.isReadable`. Sent files have one too.
    public var source: FileSourceLocation?
    /// Expiry on relays if known: some time after the start of the upload (`FilePolicy.relayRetention`).
    public var expires: Timestamp?
    /// Secret link to the file, for files in the folder of links.
    public var link: String?
    /// For sent files: whether a delivery receipt arrived.
    public var isDelivered: Bool
    /// Only another machine has the content: `FileTransferring.location(of:progress:)` brings it here.
    public var isElsewhere = false

    /// Whether the core has the whole content on this machine.
    public var isHere: Bool { status.isReadable && !isElsewhere }

    public init(
        id: FileID, name: String, size: UInt64, status: FileStatus, transport: Transport,
        source: FileSourceLocation? = nil, expires: Timestamp? = nil, link: String? = nil,
        isDelivered: Bool = false
    ) {
        self.id = id
        self.name = name
        self.size = size
        self.status = status
        self.transport = transport
        self.source = source
        self.expires = expires
        self.link = link
        self.isDelivered = isDelivered
    }
}

/// A file kept by a core: a CryptoFile if `arguments` is set, otherwise plaintext.
public struct FileSourceLocation: Hashable, Sendable {
    /// Absolute path.
    public var path: String
    public var arguments: FileArguments?

    public init(path: String, arguments: FileArguments?) {
        self.path = path
        self.arguments = arguments
    }
}
