import CommandLineKit
import Configuration
import FileSystem
import Notifications

/// Writes permissions that the user gave while mounted into the mount's table of the configuration. A mount without
/// such a table has its options from the command line, so nothing is written.
struct RememberedPermissions: Sendable {
    /// The mount's name in the configuration; nil if it has none.
    let mount: String?
    /// The options of `chatfs mount`.
    let options: [Option]

    /// Blocks.
    func remember(_ permission: Permission) throws(ConfigurationError) {
        guard let mount else { return }
        let (option, value, repeats) =
            switch permission {
            case .deletion: ("delete", DeletionPolicy.own.rawValue, false)
            case .folders: ("folders", FolderPolicy.archive.rawValue, false)
            case .program(let name): ("allow", name, true)
            }
        // False if the user removed the table meanwhile.
        _ = try ConfigurationAccess.file.set(
            option, to: value, repeats: repeats, ofMount: mount,
            checkedBy: ConfigurationAccess.reader(options))
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
