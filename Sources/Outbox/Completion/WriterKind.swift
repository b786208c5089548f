/// What programs write files for, as far as it matters to whether a closed file is finished.
public enum WriterKind: String, CaseIterable, Hashable, Sendable {
    /// Editors, browsers, all others: what they close is finished.
    case ordinary
    /// Copies files that exist elsewhere, under their names: what it closes is finished, and no sidecar of its own.
    case copying
    /// Goes on with a file that it has closed, in the same process or when it is run again.
    case resuming
    /// Writes for others elsewhere, whose connection may break.
    case serving
    /// As `serving`; it closes its files when a connection breaks.
    case closing
}

extension WriterKind {
    /// What it has closed may be unfinished for as long as it runs.
    var mayGoOn: Bool { self != .ordinary && self != .copying }

    /// The programs that are known without rules of the user, by the names of executables and scripts as distributions
    /// have them.
    static let table: [(kind: WriterKind, programs: [String])] = [
        (
            .copying,
            [
                "cp", "mv", "install", "ginstall", "cat", "dd", "tee", "pv", "ditto", "pax", "cpio", "chatfs",
                "tar", "bsdtar", "unzip", "bsdunzip", "7z", "7za", "7zr", "7zz", "unar", "unrar", "gio",
                "gvfsd*",
                // File managers.
                "nautilus", "thunar", "nemo", "caja", "dolphin", "konqueror", "krusader", "kioworker",
                "kioslave*", "pcmanfm*", "spacefm", "doublecmd", "mc", "nnn", "lf", "vifm", "ranger", "yazi",
                "rox", "xfe", "xfce4-file-manager", "cosmic-files", "pantheon-files",
                "io.elementary.files",
            ]
        ),
        (
            .resuming,
            [
                // Downloads that retry within the process, and go on when they are run again.
                "wget", "wget2", "curl", "aria2c", "axel", "lftp", "lftpget", "ncftpget", "httrack", "snarf",
                "puf", "mget", "zsync", "xh",
                "yt-dlp", "yt_dlp", "youtube-dl", "youtube_dl", "gallery-dl", "you-get", "streamlink",
                "megadl",
                "megatools", "gdown", "plowdown",
                "transmission-*", "qbittorrent*", "deluged", "deluge", "rtorrent", "ktorrent",
                // Copies over connections, which keep a part for the next run.
                "rsync", "rclone", "unison*", "zrepl", "s3cmd", "aws", "gsutil", "azcopy",
            ]
        ),
        (
            .serving,
            [
                "sftp-server", "sshd", "sshd-session", "scp", "dropbear",
                "nginx", "apache2", "httpd", "lighttpd", "caddy", "wsgidav", "webdav", "gunicorn", "uwsgi",
                "uvicorn",
                "vsftpd", "proftpd", "pure-ftpd*", "in.tftpd", "ftpd",
                "kdeconnectd", "gsconnect-*", "obexd", "localsend*", "warpinator*", "croc", "wormhole",
                "syncthing",
            ]
        ),
        (.closing, ["smbd"]),
    ]
}

/// Which exit statuses other than 0 say that a program failed.
public enum StatusMeaning: Hashable, Sendable {
    /// All, as is the custom.
    case failure
    /// All but these, by which it tells a result.
    case failureExcept([Int32])
    /// Only these: the others are words of the script that it runs.
    case failureOnly([Int32])
    /// None: the status is that of the last command that it ran.
    case nothing

    func isFailure(_ status: Int32) -> Bool {
        guard status != 0 else { return false }
        return switch self {
        case .failure: true
        case .failureExcept(let results): !results.contains(status)
        case .failureOnly(let failures): failures.contains(status)
        case .nothing: false
        }
    }
}

extension StatusMeaning {
    /// By the names of programs; those that are not here mean `failure`.
    static let table: [(meaning: StatusMeaning, programs: [String])] = [
        // They have compared, or searched.
        (
            .failureExcept([1]),
            ["diff", "diff3", "sdiff", "cmp", "grep", "egrep", "fgrep", "zgrep", "rg", "ag"]
        ),
        // The output is complete: a warning.
        (.failureExcept([1]), ["tar", "unzip", "7z", "7za", "7zz", "7zr"]),
        (.failureExcept([3]), ["qpdf"]),
        // Files of the source vanished before they were copied.
        (.failureExcept([24]), ["rsync"]),
        (.nothing, ["sh", "bash", "dash", "zsh", "ksh*", "mksh", "fish", "busybox"]),
        // An error that nobody caught.
        (.failureOnly([1, 120]), ["python*", "pypy*"]),
        (.failureOnly([1, 255]), ["perl*", "ruby*", "node", "nodejs"]),
    ]
}
