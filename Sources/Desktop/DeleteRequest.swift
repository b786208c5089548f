import ChatCore

/// A request to delete messages with files (`chatfs delete`). The first request finds them, for the user's
/// confirmation; the second deletes them.
public struct DeleteRequest: ControlRequest {
    public typealias Answer = DeleteAnswer

    public enum Action: String, Codable, Hashable, Sendable {
        /// Report the matches: one file by `entry` or by `chat` and `file`, else all files of `chat`.
        case find
        /// Delete `items` of `chat`, or without them the next part of all its files, up to `through`.
        case carryOut
    }

    public var action: Action
    /// Inode number of the entry.
    public var entry: UInt64?
    /// The chat's name as the user typed it (`NamedChats`).
    public var chat: String?
    /// File name in the message, or the message's number.
    public var file: String?
    /// Item numbers, at most `maxItems`.
    public var items: [Int64]?
    /// Of all files of a chat, only sent ones.
    public var onlySent: Bool?
    /// Of all files of a chat, none with a higher item number, so that later items stay.
    public var through: Int64?
    public var forEveryone: Bool?

    public var method: ControlMethod { .deleteFiles }

    /// Maximum number of items, so that the reply is quick and fits into a line.
    public static let maxItems = 100

    public init(
        _ action: Action, entry: UInt64? = nil, chat: String? = nil, file: String? = nil,
        items: [ItemID]? = nil, onlySent: Bool = false, through: Int64? = nil, forEveryone: Bool = false
    ) {
        self.action = action
        self.entry = entry
        self.chat = chat
        self.file = file
        self.items = items?.map(\.rawValue)
        self.onlySent = onlySent ? true : nil
        self.through = through
        self.forEveryone = forEveryone ? true : nil
    }
}

/// The matches or the deleted files.
public struct DeleteAnswer: Codable, Hashable, Sendable {
    /// The single match.
    public struct Found: Codable, Hashable, Sendable {
        public var item: Int64
        /// The chat's reference.
        public var chat: String
        /// The chat's name in commands.
        public var chatName: String
        public var name: String

        public init(item: ItemID, chat: ChatReference, chatName: String, name: String) {
            self.item = item.rawValue
            self.chat = chat.description
            self.chatName = chatName
            self.name = name
        }
    }

    public var found: Found?
    /// Reference of the chat of a request about all its files.
    public var chat: String?
    /// That chat's name in commands.
    public var chatName: String?
    /// Number of files to delete, or deleted.
    public var files = 0
    /// Local bytes of these files.
    public var bytes: UInt64 = 0
    /// `through` of the next request about all files of a chat; nil at the end.
    public var next: Int64?

    public init(
        found: Found? = nil, chat: ChatReference? = nil, chatName: String? = nil, files: Int = 0,
        bytes: UInt64 = 0, next: Int64? = nil
    ) {
        self.found = found
        self.chat = chat?.description
        self.chatName = chatName
        self.files = files
        self.bytes = bytes
        self.next = next
    }
}
