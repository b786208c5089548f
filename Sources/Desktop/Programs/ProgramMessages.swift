public struct ProgramChat: Codable, Hashable, Sendable {
    /// `@7`, `#3`, `*1` or `~1`; stable for the life of the chat.
    public var chat: String
    /// `direct`, `group`, `notes` or `links`.
    public var kind: String
    /// Folder name below the mountpoint.
    public var folder: String
    /// Display name, which the peer may change. It selects no chat.
    public var name: String
    /// Time of the last message in seconds since 1970.
    public var updated: Int64
    /// A sentence that tells why sending is impossible at present.
    public var refused: String?
    /// True if notifications are off, else absent.
    public var muted: Bool?
    /// Number of unseen arrivals; nil for none.
    public var unread: Int?
    /// Possible actions (`ChatAction`); nil for none.
    public var actions: [String]?

    public init(
        chat: String, kind: String, folder: String, name: String, updated: Int64, refused: String? = nil,
        actions: [String]? = nil
    ) {
        self.chat = chat
        self.kind = kind
        self.folder = folder
        self.name = name
        self.updated = updated
        self.refused = refused
        self.actions = actions
    }
}

public struct ProgramItem: Codable, Hashable, Sendable {
    /// Inode number of the entry, the same in every mount.
    public var number: UInt64
    /// Path below the mountpoint.
    public var path: String
    public var name: String
    /// nil for a recovered file.
    public var chat: String?
    /// Size in bytes.
    public var size: UInt64
    /// Seconds since 1970.
    public var modified: Int64
    /// Value of `user.chatfs.state`.
    public var state: String
    /// Percentage.
    public var progress: Int
    /// `sent` or `received`.
    public var direction: String?
    public var sender: String?
    public var transport: String?
    /// Media type.
    public var type: String?
    public var caption: String?
    /// Link of a file in the folder of links. A secret.
    public var link: String?
    /// Time of expiry on the relays in seconds since 1970.
    public var expires: Int64?
    /// True if pinned, else absent.
    public var pinned: Bool?
    /// A sentence that tells why the file is not local, or not sent.
    public var error: String?
    /// Digest of the content in hexadecimal if it was ever computed.
    public var sha256: String?
    /// Addresses of the relays of a received file, only in the answer to `getItem`.
    public var relays: [String]?

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
    /// True if the core is reachable.
    public var connected: Bool
    /// True if no entry is transferring, waiting or failed.
    public var synced: Bool
    /// Number of entries that are transferring or waiting.
    public var pending: Int
    /// Number of failed entries.
    public var failed: Int
    /// True if transfers are suspended, by `suspend` or before sleep.
    public var suspended: Bool
    /// Problem of the core, else of the first failed entry.
    public var lastError: String?
    /// Time of the next attempt after `lastError` in seconds since 1970; nil if none is planned.
    public var nextTry: Int64?

    private enum CodingKeys: String, CodingKey {
        case connected, synced, pending, failed, suspended
        case lastError = "last_error"
        case nextTry = "next_try"
    }

    public init(
        connected: Bool, synced: Bool, pending: Int, failed: Int, suspended: Bool, lastError: String?,
        nextTry: Int64? = nil
    ) {
        self.connected = connected
        self.synced = synced
        self.pending = pending
        self.failed = failed
        self.suspended = suspended
        self.lastError = lastError
        self.nextTry = nextTry
    }
}

/// The events that a program wants.
public enum ProgramInterest: String, Hashable, Sendable {
    /// All but `statusChanged`.
    case entries
    /// Only `statusChanged`, which describes no entry and is cheap.
    case status
}

/// An event sent to subscribed programs.
public struct ProgramEvent: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case itemAppeared = "item_appeared"
        case itemChanged = "item_changed"
        /// The name of an entry or a chat's folder is gone.
        case vanished
        case chatAppeared = "chat_appeared"
        case chatChanged = "chat_changed"
        /// The file is not local, and relays drop it soon or just did.
        case expiring
        case coreUnreachable = "core_unreachable"
        case coreReachable = "core_reachable"
        /// Transfers rest, by `suspend` or for sleep.
        case suspended
        case resumed
        /// The answer to `getSyncStatus` may have changed.
        case statusChanged = "status_changed"
        /// Events were lost: list again.
        case missed
    }

    public var event: Kind
    public var item: ProgramItem?
    public var chat: ProgramChat?
    /// Number of the vanished entry.
    public var number: UInt64?
    public var path: String?
    /// A sentence that tells why the core is unreachable.
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
