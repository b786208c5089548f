import CommandLineKit
import Network
import XFTP

/// Options with the same meaning in many commands.
enum CommonOptions {
    static let data = Option.value(
        "data", named: "DIR", .folder,
        "Data directory with profiles, chats and files; default ${XDG_DATA_HOME:-~/.local/share}/chatfs.")

    static let profile = Option.value(
        "profile", named: "NAME", .listed("profiles"),
        "The profile; default that of the mount from --mount or the current folder, or the only profile."
    )

    static let alsoPreset = Option.flag(
        "also-preset",
        "Keep the operators' servers from 'chatfs relay preset', which given servers of the same kind otherwise replace."
    )

    static let mount = Option.value(
        "mount", named: "MOUNT", .listed("mountpoints"),
        "The mount, by its path, the last part of its path, or its profile; default that of the current folder, or the only one."
    )

    static let relay = Option.value(
        "relay", named: "ADDR", .text, repeats: true,
        "A relay for files above 255 KiB: xftp://fingerprint@host:port. Stored in the profile.")

    static let core = Option.value(
        "core", named: "CORE", .text,
        "The core with the chats: lib:/path/libsimplex.so, ws://127.0.0.1:PORT, simplex-chat[:PATH], "
            + "phone[:NAME]; default ChatFS's own.")

    static let database = Option.value(
        "database", named: "PREFIX", .file,
        "With --core: the SimpleX database, without _chat.db; needed for lib:, default ~/.simplex/simplex_v1."
    )

    static let filesFolder = Option.value(
        "files-folder", named: "DIR", .folder,
        "With --core: the core's folder of files; needed for a running core (ws://).")

    static let passphrase = Option.value(
        "database-passphrase-fd", named: "N", .text,
        "With --core lib: read the passphrase of the SimpleX database from this file descriptor instead "
            + "of asking for it.")

    /// Ways to unlock the data directory, at most one. The default is a credential of systemd, the desktop's keyring,
    /// or a prompt on the terminal.
    static let unlocking: [Option] = [
        .value(
            "passphrase-fd", named: "N", .text,
            "Read the passphrase of the data directory from this file descriptor; see 'chatfs help key'."
        ),
        .value(
            "key-fd", named: "N", .text,
            "Read a key of the data directory, 32 bytes, from this file descriptor."),
        .value(
            "recovery-code-fd", named: "N", .text,
            "Read the recovery code of the data directory from this file descriptor."),
    ]

    /// Options of commands that open the data directory.
    static let directory = [data] + unlocking + [confirmMigration]

    static let confirmMigration = Option.flag(
        "confirm-migration",
        "Migrate data of an earlier version, even irreversibly; a copy is made first."
    )

    static let noEncryption = Option.flag(
        "no-encryption",
        "Do not encrypt a new data directory: anyone with the disk can read it.")

    /// Options of commands that use the daemon of a profile's mount or a core of their own.
    static let access = [profile, mount] + directory + [core, database, filesFolder, passphrase]
}

extension Invocation {
    /// Returns the relays of `--relay`.
    func relays() throws(UsageError) -> [RelayAddress] {
        try all("relay").map { text throws(UsageError) in try Self.relay(text) }
    }

    /// Parses the address of a SOCKS proxy.
    static func proxy(_ text: String) throws(UsageError) -> SOCKSProxy {
        guard let endpoint = Endpoint(text) else {
            throw UsageError("--socks-proxy takes host:port, such as 127.0.0.1:9050")
        }
        return SOCKSProxy(endpoint)
    }

    static func relay(_ text: String) throws(UsageError) -> RelayAddress {
        guard let relay = RelayAddress(text) else {
            throw UsageError("a relay address looks like xftp://fingerprint@host:port")
        }
        return relay
    }
}
