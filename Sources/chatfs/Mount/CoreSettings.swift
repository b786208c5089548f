import EmbeddedCore
import Network
import Posix
import XFTP

/// Which profile of which core a process wants for itself.
struct CoreSettings: Sendable {
    /// nil: the only one, or the active one of an official core.
    var profile: String?
    /// Where everything is kept, and how it is unlocked.
    var directory: DirectoryAccess
    /// nil: the embedded core.
    var official: OfficialCoreChoice?
    /// Told to others who want the profile; nil where nothing is mounted.
    var mountpoint: String?
    /// Kept in the profile.
    var relays: [RelayAddress] = []
    var proxy: SOCKSProxy?
    /// Opening a file marks its message as read in an official core.
    var marksRead = false
    /// nil: as it is kept in the profile.
    var relayPolicy: RelayApprovalPolicy?
    /// An official core without a profile gets one; its name is asked for on the terminal.
    var asksForName = false

    init(profile: String?, directory: DirectoryAccess, official: OfficialCoreChoice?) {
        self.profile = profile
        self.directory = directory
        self.official = official
    }

    /// Absolute.
    var dataPath: String { directory.path }

    /// The data directory where there is one.
    func openDirectory() async throws -> DataDirectory {
        let access = directory
        return try await ThreadPool.shared.run { try access.open() }
    }
}
