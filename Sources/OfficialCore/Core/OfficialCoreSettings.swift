import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix

/// How a profile of an official core is used.
public struct OfficialCoreSettings: Sendable {
    /// Whose process the core runs in.
    public enum Ownership: Sendable {
        /// A library in this process, which begins to chat when it is told to.
        case library
        /// A program that ChatFS started.
        case program
        /// A program that somebody else started: nothing global is changed in it.
        case attached
    }

    /// What to do with files on relays that are not configured in the core.
    public enum UnknownRelays: String, Sendable, CaseIterable {
        /// Not received unless approved one by one.
        case ask
        case always
        case never
    }

    /// What the markers of `folder` and of the folders of its profiles say.
    public static let purpose = "chatfs official core"
    public static let profilePurpose = "chatfs profile"

    public var ownership: Ownership
    /// Where the core keeps files. Absolute.
    public var filesFolder: String
    /// Where the core puts what is incomplete, on the same filesystem. Only for a core of our own.
    public var temporaryFolder: String
    /// What this process keeps about the core: index, names, outbox. Absolute.
    public var folder: String
    /// With which the databases there are encrypted; nil: they are not.
    public var key: SecretBytes?
    /// nil: the profile that is active in the core.
    public var profileName: String?
    /// Asked for the name of a first profile when the core has none and `profileName` is nil.
    public var askName: (@Sendable () async -> String?)?
    public var mountpoint: String?
    /// Whether the chats are compared with the core's before it is open: for one command, which has one look. A mount
    /// shows at once what was known, and is told of the rest.
    public var comparesFirst = false
    /// nil: what `chatfs approve --policy` set last, else `ask`.
    public var unknownRelays: UnknownRelays?
    /// Gives what says which files are received without being asked for, by the profile's own folder. Blocks.
    public var arrivals: @Sendable (_ profileFolder: String) -> ArrivalRule = { _ in ArrivalRule() }
    /// Chunks may be fetched by this process though the core hides the user's address: they go through a
    /// proxy too.
    public var hasProxy = false
    /// Whether opening a file marks its message as read.
    public var marksRead = true
    /// From a change to the comparison for what events did not tell of it.
    public var reconcileInterval = Duration.seconds(10)
    /// Items asked for at once when filling in the history: small, so that a reader's command never waits
    /// for long.
    public var pageSize = 50
    /// How long to wait for the first connection.
    public var connectTimeout = Duration.seconds(15)
    /// How long what became of a send waits for a connection that was lost.
    public var lostConnectionTimeout = Duration.seconds(15)
    /// How long a core of our own that is to rest may finish the commands that it has.
    public var suspensionTimeout = Duration.seconds(10)
    /// How long a core of our own is kept from its end, so that it can tell the others of a chat that was left.
    public var deliveryTimeout = Duration.seconds(10)
    /// After a send whose answer was lost: the moments, counted from the first search, at which its message
    /// is searched for.
    public var searchesForLostSend: [Duration] = [.zero, .seconds(1), .seconds(3), .seconds(6), .seconds(10)]

    /// A phone: it is away most of the time, its files come over its transport, and what is received there uses its
    /// storage. nil: a core on this machine.
    public var phone: Phone?

    /// What holds for the core of a phone.
    public struct Phone: Sendable {
        /// The profile that it had the last time, which is shown while it is away; nil before the first session.
        public var profile: Profile?
        /// Largest file that it receives for a reader here; 0: it receives nothing for this computer.
        public var receiveLimit: UInt64 = 100 << 20
        /// How long a read waits for it.
        public var awayTimeout = Duration.seconds(10)
        /// How long the first session is waited for.
        public var pairingTimeout = Duration.seconds(24 * 3600)
        /// Keeps whose chats it has. Blocks.
        public var note: @Sendable (Profile) throws -> Void = { _ in }

        public init(profile: Profile?) { self.profile = profile }
    }

    public init(ownership: Ownership, filesFolder: String, temporaryFolder: String, folder: String) {
        self.ownership = ownership
        self.filesFolder = filesFolder
        self.temporaryFolder = temporaryFolder
        self.folder = folder
    }

    /// Keeps the core's folder to this process, or waits for one that is just leaving. Blocks.
    func takeFolder() throws -> ProcessLock {
        let folder = try PrivateFolder(folder, purpose: Self.purpose)
        return try .takeProfile(
            OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory), mountpoint: mountpoint)
    }
}
