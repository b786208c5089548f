import Base
import CommandLineKit
import Configuration
import Fuse
import Glibc

/// The user's configuration and its meaning for `chatfs mount`.
enum ConfigurationAccess {
    static var file: ConfigurationFile {
        let home = variable("HOME") ?? "/"
        return .usual(configHome: variable("XDG_CONFIG_HOME"), home: home)
    }

    /// Reads the file. Blocks.
    static func read() throws(ConfigurationError) -> Configuration { try file.read(with: reader) }

    static var reader: ConfigurationReader {
        ConfigurationReader(
            mountOptions: MountOptions.all.filter { !onlyOnCommandLine.contains($0.name) },
            chatOptions: KeepOptions.all, home: variable("HOME") ?? "/")
    }

    static let example = """
        # Options of 'chatfs mount', by their long names; 'chatfs help config' explains the tables.
        #
        # [mounts.home]                # 'chatfs mount home'
        # mountpoint = "~/Chats"
        # previews = "none"
        #
        # [mounts.home.chats.Bob]      # a chat, by the name of its folder
        # mute = true
        # keep = "all"

        """

    /// Names of options that are valid for one process only.
    static let onlyOnCommandLine = Set(
        (CommonOptions.unlocking + [
            CommonOptions.databasePassphrase, CommonOptions.confirmMigration, MountOptions.background,
            MountOptions.save,
        ]).map(\.name))

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

extension Configuration {
    /// Returns the mount of the argument MOUNTPOINT: a name, a folder or, if absent, the file's only mount.
    /// - Returns: The absolute path of the mountpoint, and the mount if the file contains it.
    /// - Throws: `UsageError` if the argument is absent and the file has no mount or several, and for a mistyped name.
    func chosen(_ argument: String?) throws -> (mountpoint: String, mount: Mount?) {
        guard let argument else {
            guard mounts.count <= 1 else {
                throw UsageError("choose one of the mounts: \(mounts.map(\.name).joined(separator: ", "))")
            }
            guard let only = mounts.first else { throw UsageError("MOUNTPOINT is missing") }
            return (only.mountpoint, only)
        }
        let isWord = !argument.contains("/")
        if isWord, let mount = mount(named: argument) { return (mount.mountpoint, mount) }
        let path = try Mountpoint.absolutePath(of: argument)
        // The file may name the folder through a link, such as a home directory's.
        let linked = { mounts.first { (try? Mountpoint.absolutePath(of: $0.mountpoint)) == path } }
        let found = mount(at: path) ?? linked()
        if found == nil, isWord, access(path, F_OK) != 0, errno == ENOENT {
            // A new folder would have none of the options of the mount that was meant.
            let meant = Suggestion.text(for: argument, among: mounts.map(\.name))
            guard meant.isEmpty else {
                throw UsageError("there is neither a mount nor a folder '\(argument)'" + meant)
            }
        }
        return (path, found)
    }
}
