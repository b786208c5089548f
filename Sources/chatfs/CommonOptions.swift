import CommandLineKit
import Network
import XFTP

/// Options with the same meaning in many commands.
enum CommonOptions {
    static let data = Option.value(
        "data", named: "DIR", .folder,
        "Where profiles, chats and files are kept; else ${XDG_DATA_HOME:-~/.local/share}/chatfs.")

    static let profile = Option.value(
        "profile", named: "NAME", .listed("profiles"),
        "Whose chats; else those of the mount that --mount or the current folder says, or of the only profile."
    )

    static let alsoPreset = Option.flag(
        "also-preset",
        "Keep the operators' servers that 'chatfs relay preset' added. Otherwise the given ones of a kind replace them."
    )

    static let mount = Option.value(
        "mount", named: "MOUNT", .listed("mountpoints"),
        "The mount, by its path, the last name of it, or its profile; else the one of the current folder, or the only one."
    )

    static let relay = Option.value(
        "relay", named: "ADDR", .text, repeats: true,
        "A relay for files above 255 KiB: xftp://fingerprint@host:port. Kept in the profile.")

    static let core = Option.value(
        "core", named: "CORE", .text,
        "Where the chats come from: lib:/path/libsimplex.so, ws://127.0.0.1:PORT, simplex-chat[:PATH], "
            + "phone[:NAME]; else ChatFS's own.")

    static let database = Option.value(
        "database", named: "PREFIX", .file,
        "With --core: the SimpleX database, without _chat.db; needed for lib:, else ~/.simplex/simplex_v1.")

    static let filesFolder = Option.value(
        "files-folder", named: "DIR", .folder,
        "With --core: where the core keeps files; needed for a running one (ws://).")

    static let passphrase = Option.value(
        "database-passphrase-fd", named: "N", .text,
        "With --core lib: read the passphrase of the SimpleX database from this file descriptor; else it is "
            + "asked for.")

    /// Ways to unlock the data directory, at most one. The default is a credential of systemd, the desktop's keyring,
    /// or a prompt on the terminal.
    static let unlocking: [Option] = [
        .value(
            "passphrase-fd", named: "N", .text,
            "Read the passphrase of the data directory from this file descriptor; else see 'chatfs help key'."
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
        "Change the data of an earlier version for this one, also where that cannot be undone; a copy is made first."
    )

    static let noEncryption = Option.flag(
        "no-encryption",
        "A data directory that is made now is not encrypted: whoever has the disk can read it.")

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
