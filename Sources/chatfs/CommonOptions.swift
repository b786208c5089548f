import CommandLineKit
import EmbeddedCore
import Network
import Posix
import XFTP

/// Options with the same meaning in many commands.
enum CommonOptions {
    static let data = Option(
        "data", named: "DIR", .folder,
        "Data directory with profiles, chats and files; default ${XDG_DATA_HOME:-~/.local/share}/chatfs.")

    static let profile = Option(
        "profile", named: "NAME", .listed("profiles"),
        "The profile; default that of the mount from --mount or the current folder, or the only profile."
    )

    static let alsoPreset = Option.flag(
        "also-preset",
        "Keep the operators' servers from 'chatfs relay preset', which given servers of the same kind otherwise replace."
    )

    static let mount = Option("mount", named: "MOUNT", .listed("mountpoints"), mountpoint.help)

    static let mountpoint = Argument(
        optional: "MOUNTPOINT", .listed("mountpoints"),
        "The mount, by its path, the last part of its path, its name in the configuration, or its profile; default that of "
            + "the current folder, or the only one.")

    static let relay = Option.list(
        "relay", named: "ADDR", .text,
        "A relay for files: xftp://fingerprint@host:port. Stored in the profile.")

    static let core = Option(
        "core", named: "CORE", .text,
        "The core with the chats: lib:/path/libsimplex.so, ws://127.0.0.1:PORT, simplex-chat[:PATH], "
            + "phone[:NAME]; default ChatFS's own.")

    static let database = Option(
        "database", named: "PREFIX", .file,
        "With --core: the SimpleX database, without _chat.db; needed for lib:, default ~/.simplex/simplex_v1."
    )

    static let filesFolder = Option(
        "files-folder", named: "DIR", .folder,
        "With --core: the core's folder of files; needed for a running core (ws://).")

    static let databasePassphrase = Option(
        "database-passphrase-fd", named: "N", .text,
        "With --core lib: read the passphrase of the SimpleX database from this file descriptor instead "
            + "of asking for it.")

    static let passphrase = Option(
        "passphrase-fd", named: "N", .text,
        "Read the passphrase of the data directory from this file descriptor; see 'chatfs help key'.")

    static let key = Option(
        "key-fd", named: "N", .text, "Read a key of the data directory, 32 bytes, from this file descriptor.")

    static let recoveryCode = Option(
        "recovery-code-fd", named: "N", .text,
        "Read the recovery code of the data directory from this file descriptor.")

    /// Ways to unlock the data directory, at most one. The default is a credential of systemd, the desktop's keyring,
    /// or a prompt on the terminal.
    static let unlocking: [any OptionDeclaration] = [passphrase, key, recoveryCode]

    /// Options of commands that open the data directory.
    static let directory: [any OptionDeclaration] = [data] + unlocking + [confirmMigration]

    static let confirmMigration = Option.flag(
        "confirm-migration", "Migrate data of an earlier version, even irreversibly; a copy is made first.")

    static let noEncryption = Option.flag(
        "no-encryption", "Do not encrypt a new data directory: anyone with the disk can read it.")

    /// Options of commands that use the daemon of a profile's mount or a core of their own.
    static let access: [any OptionDeclaration] = ofProfile + official

    /// Options of commands about a profile of the data directory.
    static let ofProfile: [any OptionDeclaration] = [profile, mount] + directory

    /// Options of the core with the chats.
    static let official: [any OptionDeclaration] = [core, database, filesFolder, databasePassphrase]
}

extension Invocation {
    /// Returns the relays of `--relay`.
    func relays() throws(UsageError) -> [RelayAddress] {
        try self[CommonOptions.relay].map { text throws(UsageError) in
            guard let relay = RelayAddress(text) else {
                throw UsageError("a relay address looks like xftp://fingerprint@host:port")
            }
            return relay
        }
    }

    /// Returns the SOCKS proxy of an option; nil if it is absent or the command does not take it.
    func proxy(_ option: Option<String?>) throws(UsageError) -> SOCKSProxy? {
        guard let text = ifTaken(option) else { return nil }
        guard let endpoint = Endpoint(text) else {
            throw UsageError("--socks-proxy takes host:port, such as 127.0.0.1:9050")
        }
        return SOCKSProxy(endpoint)
    }

    /// Returns the file of an option with the number of a descriptor; nil if it is absent.
    func file(_ option: Option<String?>) throws(UsageError) -> OpenFile? {
        guard let text = self[option] else { return nil }
        guard let number = Int32(text), number >= 0 else {
            throw UsageError("--\(option.name) takes the number of an open file descriptor")
        }
        return OpenFile(adopting: number)
    }

    /// Returns the value of an option; nil if it is absent or the command does not take it.
    func ifTaken<Value>(_ option: Option<Value?>) -> Value? { takes(option) ? self[option] : nil }

    /// Absolute path of the data directory.
    var dataPath: String { AbsolutePath.of(self[CommonOptions.data] ?? DataDirectory.defaultPath()) }
}
