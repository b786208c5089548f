import Base

/// A message of a chat. ChatFS shows those that carry a file.
public struct ChatItem: Hashable, Sendable {
    public enum Direction: Hashable, Sendable {
        case sent
        case received
    }

    public var id: ItemID
    public var chat: ChatReference
    public var direction: Direction
    /// Display name of who sent it.
    public var sender: String
    /// Sender-independent broker time (received) or creation time (sent): the entry's mtime.
    public var time: Timestamp
    public var content: MessageContent
    public var file: ChatFile?
    /// Whether its message carries a preview, also where `content` leaves it out (`ChatReading.preview`).
    public var hasPreview: Bool
    /// Of a group: only its moderators and one member see it.
    public var isForModerators: Bool
    /// Its sender has deleted the message, and its file is here.
    public var isDeletedBySender: Bool

    /// - Parameter hasPreview: nil where `content` leaves none out.
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

/// What a message says besides its file (`msgContent` of the chat API).
public struct MessageContent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case text
        case file
        /// `preview` is a data URI of at most 14,000 characters, empty when there is none.
        case image(preview: String)
        case video(preview: String, seconds: Int)
        case voice(seconds: Int)
    }

    public var kind: Kind
    /// The caption, or the message itself.
    public var text: String

    /// The data URI of a picture or a video, empty when there is none.
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
    /// How the bytes travel.
    public enum Transport: String, Hashable, Sendable {
        case inline
        case xftp
        case smp
        case local
    }

    public var id: FileID
    /// Name as the sender wrote it, made safe only by who shows it.
    public var name: String
    /// Length of the plaintext in bytes.
    public var size: UInt64
    public var status: FileStatus
    public var transport: Transport
    /// Where the core keeps the bytes: readable when `status.isReadable`. Sent files have one too.
    public var source: FileSourceLocation?
    /// When relays drop it, as far as that is known: some time after its upload began (`FilePolicy.relayRetention`).
    public var expires: Timestamp?
    /// That leads to it, of a file in the folder of links. A secret.
    public var link: String?
    /// Of a sent file: the other one's program has told that it has the message.
    public var isDelivered: Bool

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

/// A file on disk that a core keeps: a CryptoFile when `arguments` is there, plain bytes otherwise.
public struct FileSourceLocation: Hashable, Sendable {
    /// Absolute path.
    public var path: String
    public var arguments: FileArguments?

    public init(path: String, arguments: FileArguments?) {
        self.path = path
        self.arguments = arguments
    }
}
