import Cryptography
import EmbeddedCore
import Network
import XFTP

/// Which profile of which core a process wants for itself.
struct CoreSettings: Sendable {
    /// nil: the only one, or the active one of an official core.
    var profile: String?
    /// Absolute.
    var dataPath: String
    /// With which the data directory is encrypted; nil: it is not.
    var key: SecretBytes?
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

    init(profile: String?, dataPath: String, official: OfficialCoreChoice?) {
        self.profile = profile
        self.dataPath = dataPath
        self.official = official
    }
}
