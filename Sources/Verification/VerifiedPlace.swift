import Base
import ChatCore
import EmbeddedCore

/// A unit of verification: a profile of the embedded core, or the data that ChatFS keeps for a profile of an official
/// core.
public enum VerifiedPlace: Hashable, Sendable {
    case profile(Profile)
    /// - Parameter folder: The core's directory, relative to the data directory.
    case official(folder: String, profile: Int64)

    /// Returns all places of a data directory, profiles first. Blocks.
    /// - Throws: `.storage`.
    public static func all(in directory: DataDirectory) throws(ChatError) -> [VerifiedPlace] {
        try directory.profiles().map { .profile($0) }
            + directory.officialFolders().flatMap { folder in
                folder.profiles.map { .official(folder: folder.name, profile: $0) }
            }
    }

    /// Name for display.
    public var name: String {
        switch self {
        case .profile(let profile): profile.displayName
        case .official: folder
        }
    }

    /// Path relative to the data directory.
    var folder: String {
        switch self {
        case .profile(let profile): "profiles/\(profile.id)"
        case .official(let folder, let profile): "\(folder)/profile-\(profile)"
        }
    }

    /// Its possible databases, relative to the data directory.
    var databases: [String] {
        switch self {
        case .profile: [DataDirectory.databaseFile] + ProfileFolders.databases.map { "\(folder)/\($0)" }
        case .official(let core, _):
            ["\(core)/\(OfficialFolder.approvals)"] + OfficialFolder.databases.map { "\(folder)/\($0)" }
        }
    }
}
