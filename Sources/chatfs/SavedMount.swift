import Base
import CommandLineKit
import Configuration

/// `chatfs mount --save`: a mount with the options of a command line, added to the configuration.
struct SavedMount {
    /// The lines of the configuration.
    let text: String

    /// - Parameters:
    ///   - invocation: Command line of `chatfs mount`.
    ///   - mountpoint: Absolute path.
    init(_ name: String, _ invocation: Invocation, at mountpoint: String) {
        var given: [String: [String]] = [:]
        // 'chatfs phone' chooses its core by --name.
        let core = CommonOptions.core
        if !invocation.takes(core) { given[core.name] = [PhoneOptions.core(invocation)] }
        for option in MountOptions.all where !ConfigurationAccess.onlyOnCommandLine.contains(option.name) {
            given[option.name] = invocation.given[option.name] ?? given[option.name]
            // Relative paths would depend on the current directory.
            if case .file? = option.type { given[option.name] = given[option.name]?.map(AbsolutePath.of) }
            if case .folder? = option.type { given[option.name] = given[option.name]?.map(AbsolutePath.of) }
        }
        text = ShownMount(name: name, mountpoint: mountpoint, options: given).lines.map { $0 + "\n" }.joined()
    }

    /// Changes nothing. Blocks.
    /// - Throws: As `add`.
    func check() throws(ConfigurationError) {
        try Self.explaining { () throws(ConfigurationError) in
            try ConfigurationAccess.file.checkAppending(text, checkedBy: ConfigurationAccess.reader)
        }
    }

    /// Appends the mount to the file. Blocks.
    /// - Throws: Also if the file already has the name or the folder; the file is then unchanged.
    func add() throws(ConfigurationError) {
        let file = ConfigurationAccess.file
        try Self.explaining { () throws(ConfigurationError) in
            try file.append(text, checkedBy: ConfigurationAccess.reader)
        }
        Terminal.note("chatfs: saved in \(file.path)")
    }

    private static func explaining(
        _ body: () throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        do throws(ConfigurationError) {
            try body()
        } catch {
            throw ConfigurationError(
                error.code, "The mount was not saved: \(error.sentence)", cause: error.cause)
        }
    }
}
