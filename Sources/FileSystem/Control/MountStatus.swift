import Base
import FoundationEssentials

/// The content of `.chatfs/status.json`, which `chatfs status` reads.
public struct MountStatus: Codable, Sendable {
    /// A file that is transferring, waiting or failed.
    public struct Transfer: Codable, Sendable {
        /// Path below the mountpoint.
        public var path: String
        public var state: String
        /// Percentage.
        public var progress: Int
        public var size: UInt64
        public var error: String?
        /// The next step while nothing is wrong and nothing moves.
        public var waitsFor: String?
    }

    /// The last error of a transfer.
    public struct LastError: Codable, Hashable, Sendable {
        /// Path below the mountpoint at that time; empty if the error concerned the whole mount.
        public var path: String
        /// Seconds since 1970.
        public var time: Int64
        public var error: String
        /// Time of the next attempt in seconds since 1970; nil if none is planned.
        public var nextTry: Int64?
    }

    /// Files that relays are about to drop, and the progress of keep rules (`chatfs keep`).
    public struct Keeping: Codable, Sendable {
        /// Files that relays drop within twelve hours and that are neither local nor downloading.
        public var expiring: Int
        /// Files that match a rule and are not yet local.
        public var waiting: Int
        /// Number of waiting files by obstacle: `metered`, `disk`, `approval`, `upload`, `failure`.
        public var obstacles: [String: Int]

        public init(expiring: Int, waiting: Int, obstacles: [String: Int]) {
            self.expiring = expiring
            self.waiting = waiting
            self.obstacles = obstacles
        }
    }

    /// The last 'chatfs verify' of the profile.
    public struct Verification: Codable, Hashable, Sendable {
        /// End time in seconds since 1970.
        public var time: Int64
        /// Files read to their ends, and their size in bytes.
        public var files: Int
        public var bytes: UInt64
        /// Findings that are not repaired yet.
        public var problems: Int

        public init(time: Int64, files: Int, bytes: UInt64, problems: Int) {
            self.time = time
            self.files = files
            self.bytes = bytes
            self.problems = problems
        }
    }

    /// A chat that receives nothing at present.
    public struct SilentChat: Codable, Sendable {
        /// Name of its folder.
        public var chat: String
        /// The reason and the remedy.
        public var problem: String
    }

    /// Work that waits for the network or for an answer.
    public struct Waiting: Codable, Sendable {
        /// An unreachable messaging server.
        public struct Server: Codable, Sendable {
            public var server: String
            /// Seconds since 1970.
            public var since: Int64
            public var problem: String

            public init(server: String, since: Int64, problem: String) {
                (self.server, self.since, self.problem) = (server, since, problem)
            }
        }

        /// Messages of a chat that no server has accepted yet.
        public struct Messages: Codable, Sendable {
            /// Name of its folder.
            public var chat: String
            /// Chat reference, such as `@7`.
            public var reference: String
            public var count: Int

            public init(chat: String, reference: String, count: Int) {
                (self.chat, self.reference, self.count) = (chat, reference, count)
            }
        }

        public var servers: [Server] = []
        public var messages: [Messages] = []
        /// Addresses of messaging servers in the local network that others named and that are not contacted.
        public var refused: [String]?
        /// Own invitations that are still unused.
        public var invitations = 0
        /// Unanswered contact requests and group invitations.
        public var requests = 0

        public init() {}

        public var isEmpty: Bool {
            servers.isEmpty && messages.isEmpty && refused == nil && invitations == 0 && requests == 0
        }
    }

    /// The disk of the data directory is full.
    public struct FullDisk: Codable, Sendable {
        public var folder: String
        /// Free bytes.
        public var free: UInt64

        public init(folder: String, free: UInt64) { (self.folder, self.free) = (folder, free) }
    }

    /// Room for the cache and for received files.
    public struct Room: Codable, Hashable, Sendable {
        /// Free bytes of the disk of the data directory.
        public var data: UInt64
        /// Free bytes of the disk of the cache; nil if the cache is in memory.
        public var cache: UInt64?
        /// The most bytes in the cache; nil without a limit.
        public var cacheLimit: UInt64?

        public init(data: UInt64, cache: UInt64?, cacheLimit: UInt64?) {
            (self.data, self.cache, self.cacheLimit) = (data, cache, cacheLimit)
        }
    }

    public var profile: String
    public var mountpoint: String
    /// Directory of the control socket.
    public var controlFolder: String
    /// Path of the program socket (`docs/reference/control-socket.md`).
    public var programSocket: String?
    public var pid: Int32
    /// Seconds since 1970.
    public var mountedAt: Int64
    public var chats: Int
    public var entries: Int
    /// Number of entries whose attributes are in memory.
    public var entriesInMemory: Int?
    /// Size of the cache.
    public var cachedBytes: UInt64
    /// Number of kernel requests since the mount, of any operation, including reads of this file. Replies from the
    /// kernel's caches do not count.
    public var requests: UInt64
    /// A sentence that tells why the core is unreachable; nil if it is reachable.
    public var coreProblem: String?
    /// nil if every chat can receive.
    public var silentChats: [SilentChat]?
    /// Contacts whose security code changed since the user verified it; nil if there are none.
    public var changedKeys: [SilentChat]?
    public var transfers: [Transfer]
    /// nil without an error since the mount began.
    public var lastError: LastError?
    public var kernel: KernelSide?
    /// Openings of files that were not local, by the kind of background program (`CallerKind`).
    public var callers: [String: CallerCount]?
    public var keeping: Keeping?
    /// nil if the profile was never verified.
    public var verified: Verification?
    /// Reason that transfers are suspended: `user` or `sleep`; nil if they run.
    public var suspended: String?
    /// nil if nothing waits.
    public var waiting: Waiting?
    /// nil if there is room.
    public var fullDisk: FullDisk?
    /// nil if the disks cannot be asked.
    public var room: Room?
    /// How many messaging servers are connected; nil if an official core has the connections.
    public var connections: Int?

    /// Indented JSON in UTF-8.
    var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        // Numbers and strings: encoding cannot fail.
        return Array(
            PrintableJSON.escaping(String(decoding: (try? encoder.encode(self)) ?? Data(), as: UTF8.self))
                .utf8)
    }

    /// Returns nil if the bytes are of another version.
    public static func decoded(_ bytes: [UInt8]) -> MountStatus? {
        try? JSONDecoder().decode(MountStatus.self, from: Data(bytes))
    }
}
