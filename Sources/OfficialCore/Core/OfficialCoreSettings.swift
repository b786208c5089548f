import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix

/// Settings for a profile of an official core.
public struct OfficialCoreSettings: Sendable {
    /// The owner of the core's process.
    public enum Ownership: Sendable {
        /// A library in this process, which starts chats on command.
        case library
        /// A program that ChatFS started.
        case program
        /// A program started by others; its global settings stay unchanged.
        case attached
    }

    /// Texts of the marker files in `folder` and in profile folders.
    public static let purpose = "chatfs official core"
    public static let profilePurpose = "chatfs profile"

    public var ownership: Ownership
    /// The core's folder for files. Absolute.
    public var filesFolder: String
    /// The core's folder for incomplete files, on the same filesystem. Only for a core that ChatFS runs.
    public var temporaryFolder: String
    /// Folder of this process's data about the core: index, names, outbox. Absolute.
    public var folder: String
    /// Encryption key of the databases there; nil if not encrypted.
    public var key: SecretBytes?
    /// nil selects the core's active profile.
    public var profileName: String?
    /// Asks the user for the name of the first profile, if the core has none and `profileName` is nil.
    public var askName: (@Sendable () async -> String?)?
    public var mountpoint: String?
    /// If true, chats are compared before `open` returns, for single commands. A mount shows the index at
    /// once and is updated later.
    public var comparesFirst = false
    /// nil means the stored value of `chatfs approve --policy`, by default `ask`.
    public var unknownRelays: RelayApprovalPolicy?
    /// Returns the rule for files to receive automatically, from the profile's folder. Blocks.
    public var arrivals: @Sendable (_ profileFolder: String) -> ArrivalRule = { _ in ArrivalRule() }
    /// True if this process uses a proxy, so it may fetch chunks even if the core hides the user's address.
    public var hasProxy = false
    /// If true, opening a file marks its message as read.
    public var marksRead = true
    /// Time from a change to the comparison.
    public var reconcileInterval = Duration.seconds(10)
    /// Items per request when reading the history; small, so that foreground commands wait only briefly.
    public var pageSize = 50
    /// Timeout of the first connection.
    public var connectTimeout = Duration.seconds(15)
    /// Time that the outcome of a send waits for a lost connection.
    public var lostConnectionTimeout = Duration.seconds(15)
    /// Time for running commands before a core that ChatFS runs is suspended.
    public var suspensionTimeout = Duration.seconds(10)
    /// Maximum time to keep a core that ChatFS runs alive at its end, so that it can deliver the message
    /// about a left chat.
    public var deliveryTimeout = Duration.seconds(10)
    /// Times of the searches for a message whose answer was lost, counted from the first search.
    public var searchesForLostSend: [Duration] = [.zero, .seconds(1), .seconds(3), .seconds(6), .seconds(10)]

    /// Settings for a phone, which is mostly disconnected, transfers files itself, and uses its own storage
    /// for received files. nil means a core on this machine.
    public var phone: Phone?

    /// Settings for the core of a phone.
    public struct Phone: Sendable {
        /// The profile of the last session, shown while disconnected; nil before the first session.
        public var profile: Profile?
        /// Maximum size in bytes of a file that the phone receives for a reader here; 0 means none.
        public var receiveLimit: UInt64 = 100 << 20
        /// Time that a read waits for the phone.
        public var awayTimeout = Duration.seconds(10)
        /// Time to wait for the first session.
        public var pairingTimeout = Duration.seconds(24 * 3600)
        /// Stores the profile. Blocks.
        public var note: @Sendable (Profile) throws -> Void = { _ in }
        /// Shows its user a sentence that tells why the connected phone is not used. Must return at once.
        public var refuse: @Sendable (String) -> Void = { _ in }

        public init(profile: Profile?) { self.profile = profile }
    }

    public init(ownership: Ownership, filesFolder: String, temporaryFolder: String, folder: String) {
        self.ownership = ownership
        self.filesFolder = filesFolder
        self.temporaryFolder = temporaryFolder
        self.folder = folder
    }

    /// Locks the core's folder for this process, waiting for one that is about to end. Blocks.
    func takeFolder() throws -> ProcessLock {
        let folder = try PrivateFolder(folder, purpose: Self.purpose)
        return try .takeProfile(
            OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory), mountpoint: mountpoint)
    }
}
