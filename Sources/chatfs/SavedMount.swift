import Base
import CommandLineKit
import Configuration

/// `chatfs mount --save`: a mount with the options of a command line, added to the configuration.
struct SavedMount {
    private let text: String

    /// - Parameters:
    ///   - invocation: Command line of `chatfs mount`.
    ///   - mountpoint: Absolute path.
    init(_ name: String, _ invocation: Invocation, at mountpoint: String) {
        var given = invocation.given
        for option in MountOptions.all {
            if ConfigurationAccess.isOnlyOnCommandLine(option) { given[option.name] = nil }
            // Relative paths would depend on the current directory.
            if case .file? = option.type { given[option.name] = given[option.name]?.map(AbsolutePath.of) }
            if case .folder? = option.type { given[option.name] = given[option.name]?.map(AbsolutePath.of) }
        }
        text =
            ShownMount(name: name, mountpoint: mountpoint, options: given).lines.joined(separator: "\n")
            + "\n"
    }

    /// Appends the mount to the file. Blocks.
    /// - Throws: `ConfigurationError`, also if the file already has the name or the folder; the file is then unchanged.
    func add() throws {
        let file = ConfigurationAccess.file
        do throws(ConfigurationError) {
            try file.append(text, checkedBy: ConfigurationAccess.reader)
        } catch {
            throw ConfigurationError(
                error.code, "The mount was not saved: \(error.sentence)", cause: error.cause)
        }
        Terminal.note("chatfs: saved in \(file.path)")
    }
}
