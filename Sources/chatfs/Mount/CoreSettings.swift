import ChatCore
import EmbeddedCore
import Network
import Posix
import XFTP

/// The core and profile that a process opens.
struct CoreSettings: Sendable {
    /// nil for the only one, or the active one of an official core.
    var profile: String?
    /// The data directory and the ways to unlock it.
    var directory: DirectoryAccess
    var core: CoreChoice
    /// Reported to other processes that want the profile; nil if not mounted.
    var mountpoint: String?
    /// Stored in the profile.
    var relays: [RelayAddress] = []
    var proxy: SOCKSProxy?
    /// True if opening a file marks its message as read in an official core.
    var marksRead = false
    /// Display of a phone's link and code.
    var phoneDisplay = LinkDisplay()
    /// nil keeps the profile's policy.
    var relayPolicy: RelayApprovalPolicy?
    /// True to create the first profile of an official core and to prompt for its name.
    var asksForName = false

    /// Absolute path.
    var dataPath: String { directory.path }

    /// Opens an existing data directory.
    func openDirectory() async throws -> DataDirectory {
        let access = directory
        return try await ThreadPool.shared.run { try access.open() }
    }
}
