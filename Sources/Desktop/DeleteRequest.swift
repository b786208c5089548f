import ChatCore

/// Messages with a file that are to be deleted (`chatfs delete`): one line of JSON to the daemon that has the profile.
/// First they are found, for the question to the user; then what was found is deleted.
public struct DeleteRequest: Codable, Hashable, Sendable {
    public enum Action: String, Codable, Hashable, Sendable {
        /// Say what would go: one file by `entry`, or by `chat` and `file`; else all of `chat`.
        case find
        /// Delete `items` of `chat`; without them the next of all its files, up to `through`.
        case carryOut
    }

    public var delete: Action
    /// Inode number of the entry.
    public var entry: UInt64?
    /// As the user named it (`NamedChats`).
    public var chat: String?
    /// The name in its message, or the number of the message.
    public var file: String?
    /// Numbers of items, at most `maxItems`.
    public var items: [Int64]?
    /// Of all files of a chat only the sent ones.
    public var onlySent: Bool?
    /// Of all files of a chat no item with a higher number: what came since it was asked for stays.
    public var through: Int64?
    public var forEveryone: Bool?

    /// So that an answer comes in time and fits into a line.
    public static let maxItems = 100

    public init(
        _ action: Action, entry: UInt64? = nil, chat: String? = nil, file: String? = nil,
        items: [ItemID]? = nil, onlySent: Bool = false, through: Int64? = nil, forEveryone: Bool = false
    ) {
        delete = action
        self.entry = entry
        self.chat = chat
        self.file = file
        self.items = items?.map(\.rawValue)
        self.onlySent = onlySent ? true : nil
        self.through = through
        self.forEveryone = forEveryone ? true : nil
    }
}

/// The answer: one line of JSON.
public struct DeleteAnswer: Codable, Hashable, Sendable {
    /// The one file that was found.
    public struct Found: Codable, Hashable, Sendable {
        public var item: Int64
        /// The reference of its chat.
        public var chat: String
        /// As commands name the chat.
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
    /// The reference of the chat all files of which were asked for.
    public var chat: String?
    /// As commands name it.
    public var chatName: String?
    /// How many would go, or went.
    public var files = 0
    /// Of these the bytes that are, or were, kept here.
    public var bytes: UInt64 = 0
    /// `through` of the next request about all files of a chat; nil where there is nothing left.
    public var next: Int64?
    /// Why not, a sentence.
    public var problem: String?

    public init(
        found: Found? = nil, chat: ChatReference? = nil, chatName: String? = nil, files: Int = 0,
        bytes: UInt64 = 0, next: Int64? = nil,
        problem: String? = nil
    ) {
        self.found = found
        self.chat = chat?.description
        self.chatName = chatName
        self.files = files
        self.bytes = bytes
        self.next = next
        self.problem = problem
    }
}
