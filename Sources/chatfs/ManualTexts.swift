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
            "What a mount in the background has to say, where no systemd journal listens; at most 1 MiB, and "
                + "the MiB before it in log.1."
        ),
        (
            "${XDG_DATA_HOME:-~/.local/share}/chatfs/keys",
            "The key of the data, wrapped for each way to unlock; without it the data is lost."
        ),
        (
            "${XDG_CACHE_HOME:-~/.cache}/chatfs",
            "The cache of mounts, gone with them; --cache-dir names another."
        ),
        (
            "${XDG_DATA_HOME:-~/.local/share}/chatfs/profiles/N/set-aside",
            "What 'chatfs verify --fix' found that belongs to nothing; nobody but you deletes it."
        ),
        ("MOUNTPOINT/.chatfs/status.json", "The state of a mount, as 'chatfs status --json' prints it."),
        ("MOUNTPOINT/.chatfs/transfers", "What is on its way, a line each."),
        (
            "MOUNTPOINT/.chatfs/recovered",
            "Files that were not complete when their mount ended, or were left alone."
        ),
    ]

    /// The section about environment variables.
    static let environment: [ManualPage.Entry] = [
        ("XDG_DATA_HOME, XDG_CACHE_HOME, HOME", "Where data and cache lie."),
        (
            "CHATFS_LOG",
            "What is logged: error, warning, notice (the default), info or debug; goes before --quiet "
                + "and --verbose. From debug on the log may hold names of files."
        ),
        ("COLUMNS", "The width of text where standard output is no terminal."),
        (
            "LC_ALL, LC_CTYPE, LANG, TERM",
            "What a terminal can show: plain ASCII, and lines in place of bars."
        ),
        (
            "CREDENTIALS_DIRECTORY",
            "Set by systemd: chatfs.key or chatfs.passphrase there unlock the data (systemd.exec(5))."
        ),
        (
            "DBUS_SESSION_BUS_ADDRESS",
            "Where notifications are shown and the keyring is; else $XDG_RUNTIME_DIR/bus."
        ),
        ("JOURNAL_STREAM", "Set by systemd: log lines carry their level."),
    ]
}
