import Base

/// A command's request about the cache of a mount.
public struct CacheRequest: ControlRequest {
    public typealias Answer = CacheAnswer

    public enum Action: String, Codable, Hashable, Sendable {
        /// Report the cache's content.
        case show
        /// Evict everything that is neither open nor pinned.
        case clear
        /// Retry failed downloads at once and drop earlier refusals, because the user approved relays.
        case tryAgain
        /// Cancel the transfer of one entry.
        case cancel
        /// Hydrate, dehydrate, pin or unpin one entry; see `chatfs hydrate` and its siblings.
        case hydrate, dehydrate, pin, unpin
    }

    public var action: Action
    /// Inode number of the entry; nil for actions on the whole cache.
    public var entry: UInt64?

    public var method: ControlMethod { .cache }

    public init(_ action: Action, entry: UInt64? = nil) {
        self.action = action
        self.entry = entry
    }
}

/// The daemon's reply.
public struct CacheAnswer: Codable, Hashable, Sendable {
    /// False while the file is still downloading; repeat the request.
    public var isDone: Bool
    /// Percentage of the file that is local.
    public var progress: Int
    /// The cache's content, for `show`.
    public var cache: State?

    /// The content of a mount's cache.
    public struct State: Codable, Hashable, Sendable {
        /// `sealed`, `plain` or `memory`.
        public var mode: String
        /// Bytes on the disk.
        public var bytesOnDisk: UInt64
        public var limit: UInt64?
        /// Free bytes that the cache leaves on its disk.
        public var minimumFree: UInt64
        /// Free bytes of that disk.
        public var free: UInt64
        /// Number of files with local bytes.
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

    public init(isDone: Bool = true, progress: Int = 100, cache: State? = nil) {
        self.isDone = isDone
        self.progress = progress
        self.cache = cache
    }
}
