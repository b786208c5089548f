import Base
import FoundationEssentials

/// What `.chatfs/status.json` holds; `chatfs status` reads it.
public struct MountStatus: Codable, Sendable {
    /// One file that is on its way, waits, or could not go.
    public struct Transfer: Codable, Sendable {
        /// Folder and name below the mountpoint.
        public var path: String
        public var state: String
        /// Per cent.
        public var progress: Int
        public var size: UInt64
        public var error: String?
    }

    /// What relays drop, and what rules do about it (`chatfs keep`).
    public struct Keeping: Codable, Sendable {
        /// Files that relays drop within twelve hours, and that are neither here nor coming.
        public var expiring: Int
        /// Files that rules want and that are not here yet.
        public var waiting: Int
        /// How many of these wait for what: `metered`, `disk`, `approval`, `upload`, `failure`.
        public var obstacles: [String: Int]

        public init(expiring: Int, waiting: Int, obstacles: [String: Int]) {
            self.expiring = expiring
            self.waiting = waiting
            self.obstacles = obstacles
        }
    }

    /// The last 'chatfs verify' of the profile.
    public struct Verification: Codable, Hashable, Sendable {
        /// When it ended, seconds since 1970.
        public var time: Int64
        /// Files that were read to their ends, and their bytes.
        public var files: Int
        public var bytes: UInt64
        /// Findings about which nothing was done yet.
        public var problems: Int

        public init(time: Int64, files: Int, bytes: UInt64, problems: Int) {
            self.time = time
            self.files = files
            self.bytes = bytes
            self.problems = problems
        }
    }

    /// A chat out of which nothing comes at present.
    public struct SilentChat: Codable, Sendable {
        /// Its folder.
        public var chat: String
        /// Why, and what helps.
        public var problem: String
    }

    /// What waits for the network, or for somebody's answer.
    public struct Waiting: Codable, Sendable {
        /// A messaging server that cannot be reached.
        public struct Server: Codable, Sendable {
            public var server: String
            /// Seconds since 1970.
            public var since: Int64
            public var problem: String

            public init(server: String, since: Int64, problem: String) {
                (self.server, self.since, self.problem) = (server, since, problem)
            }
        }

        /// Messages of a chat that no server has taken yet.
        public struct Messages: Codable, Sendable {
            /// Its folder.
            public var chat: String
            /// Such as `@7`.
            public var reference: String
            public var count: Int

            public init(chat: String, reference: String, count: Int) {
                (self.chat, self.reference, self.count) = (chat, reference, count)
            }
        }

        public var servers: [Server] = []
        public var messages: [Messages] = []
        /// Addresses of messaging servers inside the own network that others named, and that are not contacted.
        public var refused: [String]?
        /// Own invitations that nobody has used yet.
        public var invitations = 0
        /// Requests and group invitations of others without an answer.
        public var requests = 0

        public init() {}

        public var isEmpty: Bool {
            servers.isEmpty && messages.isEmpty && refused == nil && invitations == 0 && requests == 0
        }
    }

    /// The disk of the data directory has no room left.
    public struct FullDisk: Codable, Sendable {
        public var folder: String
        /// Bytes.
        public var free: UInt64

        public init(folder: String, free: UInt64) { (self.folder, self.free) = (folder, free) }
    }

    public var profile: String
    public var mountpoint: String
    /// Folder with the control socket.
    public var controlFolder: String
    /// The socket for programs (`docs/control.md`).
    public var programSocket: String?
    public var pid: Int32
    /// Seconds since 1970.
    public var mountedAt: Int64
    public var chats: Int
    public var entries: Int
    /// How many of them have their attributes in memory.
    public var entriesInMemory: Int?
    /// Decrypted bytes in the cache.
    public var cachedBytes: UInt64
    /// How often the kernel asked the mount for something since it was made, by whatever operation; those for
    /// this file are among them. What the kernel answers itself is not.
    public var requests: UInt64
    /// Why the core cannot be reached at present, a sentence; nil when it can.
    public var coreProblem: String?
    /// nil where something may come from all.
    public var silentChats: [SilentChat]?
    /// Contacts whose security code changed since the user has verified it; nil where there are none.
    public var changedKeys: [SilentChat]?
    public var transfers: [Transfer]
    public var kernel: KernelSide?
    /// Openings of files that were not here, by the kinds of programs that open files without anybody wanting to see
    /// them (`CallerKind`).
    public var callers: [String: CallerCount]?
    public var keeping: Keeping?
    /// nil where the profile was never verified.
    public var verified: Verification?
    /// Whether nothing is transferred at present: `user` or `sleep`; nil when it is.
    public var suspended: String?
    /// nil where nothing waits.
    public var waiting: Waiting?
    /// nil where there is room.
    public var fullDisk: FullDisk?

    /// JSON in UTF-8, to be read by people too.
    var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        // Only numbers and strings: encoding them cannot fail.
        return Array(
            PrintableJSON.escaping(String(decoding: (try? encoder.encode(self)) ?? Data(), as: UTF8.self))
                .utf8)
    }

    /// What `bytes`, read from the file, say; nil when they are of another version.
    public static func decoded(_ bytes: [UInt8]) -> MountStatus? {
        try? JSONDecoder().decode(MountStatus.self, from: Data(bytes))
    }
}
