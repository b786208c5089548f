import Base

/// What programs and the daemon of a mount say to each other, one JSON object a line: `docs/control.md` is their
/// documentation, and its examples are tested.
public enum ProgramProtocol {
    /// Raised when a program that was written for the version before would be misled. What is added raises nothing:
    /// members that a program does not know are to be passed over.
    public static let version = 1
    /// Chats or entries in one answer, at most.
    public static let maxCount = 1000
}

/// The first line of the daemon.
public struct ProgramGreeting: Codable, Hashable, Sendable {
    public var chatfs: Int
    public var profile: String
    public var mountpoint: String
    public var pid: Int32

    public init(profile: String, mountpoint: String, pid: Int32) {
        chatfs = ProgramProtocol.version
        self.profile = profile
        self.mountpoint = mountpoint
        self.pid = pid
    }
}

/// A line of the program.
public struct ProgramRequest: Codable, Hashable, Sendable {
    public enum Method: String, Codable, Hashable, Sendable, CaseIterable {
        case listChats = "list_chats"
        case listItems = "list_items"
        case getItem = "get_item"
        case getSyncStatus = "get_sync_status"
        case subscribe
        case hydrate, dehydrate, pin, unpin, free, cancel, retry
        case upload
        case sendText = "send_text"
        case mute, unmute
        case markRead = "mark_read"
        case keep
        case approve
        case suspend, resume
    }

    /// Comes back with the answer.
    public var id: Int64
    public var method: Method
    /// An entry, below the mountpoint.
    public var path: String?
    /// A chat: its folder, name or reference.
    public var chat: String?
    /// Only entries in one of these states.
    public var states: [String]?
    /// The number of the last entry that is known.
    public var after: UInt64?
    public var count: Int?
    /// A file to upload; absolute.
    public var source: String?
    public var caption: String?
    /// The same for a repetition of the same upload.
    public var key: String?
    public var relays: [String]?
    /// With SHA-256 of what is here and nobody has asked for yet.
    public var hash: Bool?
    /// Of `free`: also what no relay has any more.
    public var last: Bool?
    /// Of `send_text`.
    public var text: String?
    /// Of `keep`: `never`, `media` or `all`.
    public var what: String?

    public init(
        _ method: Method, id: Int64 = 1, path: String? = nil, chat: String? = nil, states: [String]? = nil,
        after: UInt64? = nil, count: Int? = nil, source: String? = nil, caption: String? = nil,
        key: String? = nil, relays: [String]? = nil, hash: Bool? = nil, last: Bool? = nil,
        text: String? = nil, what: String? = nil
    ) {
        self.text = text
        self.what = what
        self.last = last
        self.hash = hash
        self.id = id
        self.method = method
        self.path = path
        self.chat = chat
        self.states = states
        self.after = after
        self.count = count
        self.source = source
        self.caption = caption
        self.key = key
        self.relays = relays
    }
}

/// The answer to a request: a result or an error.
public struct ProgramAnswer: Codable, Hashable, Sendable {
    /// Nil where the request could not be read.
    public var id: Int64?
    public var result: ProgramResult?
    public var error: Problem?

    public struct Problem: Codable, Hashable, Sendable {
        public var code: ProgramErrorCode
        /// A sentence for people.
        public var message: String
    }

    init(_ id: Int64?, _ result: ProgramResult) {
        self.id = id
        self.result = result
    }

    init(_ id: Int64?, _ error: ProgramError) {
        self.id = id
        self.error = Problem(code: error.code, message: error.sentence)
    }
}

/// What a request answers; each method sets its own members.
public struct ProgramResult: Codable, Hashable, Sendable {
    public var chats: [ProgramChat]?
    public var items: [ProgramItem]?
    /// There are more items: ask for those after this number.
    public var next: UInt64?
    public var item: ProgramItem?
    public var status: ProgramStatus?
    /// Whether what was asked for is done, or goes on and is told by events.
    public var done: Bool?
    /// Bytes that are free on the disk now.
    public var freed: UInt64?

    public init(
        chats: [ProgramChat]? = nil, items: [ProgramItem]? = nil, next: UInt64? = nil,
        item: ProgramItem? = nil, status: ProgramStatus? = nil, done: Bool? = nil,
        freed: UInt64? = nil
    ) {
        self.freed = freed
        self.chats = chats
        self.items = items
        self.next = next
        self.item = item
        self.status = status
        self.done = done
    }
}

public struct ProgramChat: Codable, Hashable, Sendable {
    /// `@7`, `#3`, `*1` or `~1`: the same as long as the chat is there.
    public var chat: String
    /// `direct`, `group`, `notes` or `links`.
    public var kind: String
    /// Its folder below the mountpoint.
    public var folder: String
    /// The display name: a label that its peer may change, and that selects nothing.
    public var name: String
    /// Of its last message: seconds since 1970.
    public var updated: Int64
    /// Why nothing can be sent into it at present.
    public var refused: String?
    /// True where its notifications are off, else not there.
    public var muted: Bool?
    /// How much nobody has seen of what arrived; nil for nothing.
    public var unread: Int?

    public init(
        chat: String, kind: String, folder: String, name: String, updated: Int64, refused: String? = nil
    ) {
        self.chat = chat
        self.kind = kind
        self.folder = folder
        self.name = name
        self.updated = updated
        self.refused = refused
    }
}

public struct ProgramItem: Codable, Hashable, Sendable {
    /// The inode number of the entry, the same in every mount.
    public var number: UInt64
    /// Below the mountpoint.
    public var path: String
    public var name: String
    /// Nil for a recovered file.
    public var chat: String?
    /// Bytes.
    public var size: UInt64
    /// Seconds since 1970.
    public var modified: Int64
    /// As `user.chatfs.state` says.
    public var state: String
    /// Per cent.
    public var progress: Int
    /// `sent` or `received`.
    public var direction: String?
    public var sender: String?
    public var transport: String?
    /// Media type.
    public var type: String?
    public var caption: String?
    /// That leads to it, of a file in the folder of links. A secret.
    public var link: String?
    /// When relays drop it: seconds since 1970.
    public var expires: Int64?
    /// True of what is kept here by `pin`, else not there.
    public var pinned: Bool?
    /// Why it is not here, or not sent: a sentence.
    public var error: String?
    /// Of its bytes, hexadecimal, where it is known: somebody has asked for it while the file was here.
    public var sha256: String?

    public init(
        number: UInt64, path: String, name: String, chat: String?, size: UInt64, modified: Int64,
        state: String, progress: Int
    ) {
        self.number = number
        self.path = path
        self.name = name
        self.chat = chat
        self.size = size
        self.modified = modified
        self.state = state
        self.progress = progress
    }
}

public struct ProgramStatus: Codable, Hashable, Sendable {
    /// Whether the core can be reached.
    public var connected: Bool
    /// Whether nothing is on its way, waits, or failed.
    public var synced: Bool
    /// Entries that are on their way or wait.
    public var pending: Int
    /// Entries that could not go or come.
    public var failed: Int
    /// Whether nothing is transferred at present, by `suspend` or because the machine is about to sleep.
    public var suspended: Bool
    /// The sentence of the core, else of the first entry that could not go or come.
    public var lastError: String?

    private enum CodingKeys: String, CodingKey {
        case connected, synced, pending, failed, suspended
        case lastError = "last_error"
    }

    public init(
        connected: Bool, synced: Bool, pending: Int, failed: Int, suspended: Bool, lastError: String?
    ) {
        self.connected = connected
        self.synced = synced
        self.pending = pending
        self.failed = failed
        self.suspended = suspended
        self.lastError = lastError
    }
}

/// A line of the daemon that answers nothing: what happened, to who has subscribed.
public struct ProgramEvent: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case itemAppeared = "item_appeared"
        case itemChanged = "item_changed"
        /// A name is gone, of an entry or of a chat's folder.
        case vanished
        case chatAppeared = "chat_appeared"
        case chatChanged = "chat_changed"
        /// Relays drop the file soon, or just did, and it is not here.
        case expiring
        case coreUnreachable = "core_unreachable"
        case coreReachable = "core_reachable"
        /// More happened than was kept: list again.
        case missed
    }

    public var event: Kind
    public var item: ProgramItem?
    public var chat: ProgramChat?
    /// Of what is gone.
    public var number: UInt64?
    public var path: String?
    /// Why the core cannot be reached.
    public var message: String?

    public init(
        _ event: Kind, item: ProgramItem? = nil, chat: ProgramChat? = nil, number: UInt64? = nil,
        path: String? = nil, message: String? = nil
    ) {
        self.event = event
        self.item = item
        self.chat = chat
        self.number = number
        self.path = path
        self.message = message
    }
}

/// Why a request of a program was not carried out.
public typealias ProgramError = CodedError<ProgramErrorCode>

public enum ProgramErrorCode: String, Codable, Hashable, Sendable, CaseIterable {
    /// The line is no request: not JSON, without id or method, or of a method that is not known.
    case malformed
    /// A member is missing or makes no sense.
    case invalidParameter = "invalid_parameter"
    case noSuchChat = "no_such_chat"
    case noSuchItem = "no_such_item"
    /// It is not to be done: the sentence says why.
    case refused
    /// It would delete what cannot be received again: the same with `last` does.
    case lastCopy = "last_copy"
    /// It failed here or elsewhere; the same may succeed later.
    case failed
}
