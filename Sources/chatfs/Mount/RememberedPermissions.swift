import CommandLineKit
import Configuration
import FileSystem
import Notifications

/// Writes permissions that the user gave while mounted into the mount's table of the configuration. A mount without
/// such a table has its options from the command line, so nothing is written.
struct RememberedPermissions: Sendable {
    /// The mount's name in the configuration; nil if it has none.
    let mount: String?

    /// Blocks.
    func remember(_ permission: Permission) throws(ConfigurationError) {
        guard let mount else { return }
        let (option, value): (any OptionDeclaration, String) =
            switch permission {
            case .deletion: (MountOptions.deletion, DeletionPolicy.own.rawValue)
            case .folders: (MountOptions.folders, FolderPolicy.archive.rawValue)
            case .program(let name): (MountOptions.allowed, name)
            }
        // False if the user removed the table meanwhile.
        _ = try ConfigurationAccess.file.set(
            option, to: value, ofMount: mount, checkedBy: ConfigurationAccess.reader)
    }
}

extension RefusalRemedy {
    init(_ permission: Permission) {
        switch permission {
        case .deletion: self = .allowDeleting
        case .folders: self = .sendArchives
        case .program(let name): self = .allowProgram(name)
        }
    }

    var permission: Permission {
        switch self {
        case .allowDeleting: .deletion
        case .sendArchives: .folders
        case .allowProgram(let name): .program(name)
        }
    }
}
