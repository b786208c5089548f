import Base

/// What a command wants of the cache of a mount: one line of JSON to its daemon.
public struct CacheRequest: Codable, Hashable, Sendable {
    public enum Action: String, Codable, Hashable, Sendable {
        /// Say what the cache holds.
        case show
        /// Empty it but for what is open or pinned.
        case clear
        /// Try at once what could not be received, and answer no read with an earlier refusal: the user has
        /// approved relays.
        case tryAgain
        /// Receive or send one entry no further.
        case cancel
        /// Of one entry, see `chatfs hydrate` and its siblings.
        case hydrate, dehydrate, pin, unpin
    }

    public var action: Action
    /// Inode number of the entry, where the action is about one.
    public var entry: UInt64?

    public init(_ action: Action, entry: UInt64? = nil) {
        self.action = action
        self.entry = entry
    }
}

/// The daemon's answer to a request.
public struct CacheAnswer: Codable, Hashable, Sendable {
    /// False while a file is still coming: ask again.
    public var isDone: Bool
    /// Per cent of the file that is here.
    public var progress: Int
    /// Why not, a sentence.
    public var problem: String?
    /// With a problem: it failed and may succeed later, rather than being refused.
    public var hasFailed: Bool?
    /// What the cache holds, for `show`.
    public var cache: State?

    /// What the cache of a mount holds.
    public struct State: Codable, Hashable, Sendable {
        /// `sealed`, `plain` or `memory`.
        public var mode: String
        /// Decrypted bytes on the disk.
        public var bytesOnDisk: UInt64
        public var limit: UInt64?
        /// Bytes that the cache leaves free on its disk.
        public var minimumFree: UInt64
        /// Bytes that are free there.
        public var free: UInt64
        /// Files of which something is at hand.
        public var files: Int
        public var pinned: Int

        public init(
            mode: String, bytesOnDisk: UInt64, limit: UInt64?, minimumFree: UInt64, free: UInt64,
            files: Int, pinned: Int
        ) {
            self.mode = mode
            self.bytesOnDisk = bytesOnDisk
            self.limit = limit
            self.minimumFree = minimumFree
            self.free = free
            self.files = files
            self.pinned = pinned
        }
    }

    public init(
        isDone: Bool = true, progress: Int = 100, problem: String? = nil, hasFailed: Bool? = nil,
        cache: State? = nil
    ) {
        self.isDone = isDone
        self.progress = progress
        self.problem = problem
        self.hasFailed = hasFailed
        self.cache = cache
    }
}
