import CommandLineKit

/// Sections of the manual beside the commands.
enum ManualTexts {
    /// The section about files.
    static let files: [ManualPage.Entry] = [
        (
            "${XDG_DATA_HOME:-~/.local/share}/chatfs",
            "Profiles, chats, files and drafts; --data names another."
        ),
        (
            "${XDG_DATA_HOME:-~/.local/share}/chatfs/profiles/N/log",
            "Log of a background mount without a systemd journal; at most 1 MiB, and "
                + "the previous MiB in log.1."
        ),
        (
            "${XDG_DATA_HOME:-~/.local/share}/chatfs/keys",
            "The key of the data, wrapped for each way to unlock; without it the data is lost."
        ),
        (
            "${XDG_CACHE_HOME:-~/.cache}/chatfs",
            "The cache of mounts, deleted at unmount; --cache-dir names another."
        ),
        (
            "${XDG_DATA_HOME:-~/.local/share}/chatfs/profiles/N/set-aside",
            "Left-over files from 'chatfs verify --fix'; ChatFS never deletes them."
        ),
        ("MOUNTPOINT/.chatfs/status.json", "The state of a mount, as 'chatfs status --json' prints it."),
        ("MOUNTPOINT/.chatfs/transfers", "Active transfers, one per line."),
        (
            "MOUNTPOINT/.chatfs/recovered",
            "Unfinished and abandoned outgoing files."
        ),
    ]

    /// The section about environment variables.
    static let environment: [ManualPage.Entry] = [
        ("XDG_DATA_HOME, XDG_CACHE_HOME, HOME", "Folders of data and cache."),
        (
            "CHATFS_LOG",
            "Log level: error, warning, notice (the default), info or debug; overrides --quiet "
                + "and --verbose. The level debug may log names of files."
        ),
        ("COLUMNS", "The width of text if standard output is not a terminal."),
        (
            "LC_ALL, LC_CTYPE, LANG, TERM",
            "Capabilities of the terminal; a simple one gets plain ASCII, and lines instead of progress bars."
        ),
        (
            "CREDENTIALS_DIRECTORY",
            "Set by systemd: chatfs.key or chatfs.passphrase there unlock the data (systemd.exec(5))."
        ),
        (
            "DBUS_SESSION_BUS_ADDRESS",
            "Message bus of notifications and the keyring; default $XDG_RUNTIME_DIR/bus."
        ),
        ("JOURNAL_STREAM", "Set by systemd: log lines carry their level."),
    ]
}
