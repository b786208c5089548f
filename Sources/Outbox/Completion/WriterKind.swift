/// The kind of a writing program, by the state of the files that it closes.
public enum WriterKind: String, CaseIterable, Hashable, Sendable {
    /// Editors, browsers and all others: closed files are finished.
    case ordinary
    /// Copies existing files under their names: closed files are finished and are not its own sidecar files.
    case copying
    /// May continue a closed file, in the same process or a later one.
    case resuming
    /// An interpreter that runs a script, which may try again.
    case scripted
    /// Writes for a remote peer whose connection may break.
    case serving
    /// Like `serving`, but closes its files when a connection breaks.
    case closing
}

extension WriterKind {
    /// The number of quiet times for which a running program may leave a closed file unfinished; 0 if it does not.
    var maxQuietTimes: Int {
        switch self {
        case .ordinary, .copying: 0
        case .scripted: 30
        case .resuming, .serving, .closing: 900
        }
    }

    /// True if its unfinished files are held after a crash of the mount.
    var isDoubted: Bool { [.resuming, .serving, .closing].contains(self) }

    /// True if nothing is known about the program but its name.
    var isUnknown: Bool { self == .ordinary || self == .scripted }

    /// Programs known without user rules, by the names of their executables and scripts in distributions.
    static let table: [(kind: WriterKind, programs: [String])] = [
        // Scripts with a window or a prompt.
        (
            .ordinary,
            [
                "meld", "ipython*", "ipykernel_launcher", "jupyter*", "spyder*", "idle*", "thonny", "gajim",
                "calibre*", "zim",
            ]
        ),
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
                // Download programs that retry, or continue when run again.
                "wget", "wget2", "curl", "aria2c", "axel", "lftp", "lftpget", "ncftpget", "httrack", "snarf",
                "puf", "mget", "zsync", "xh", "sftp", "ftp", "tnftp", "ncftp", "lwp-download",
                // HTTPie and the methods of APT.
                "http", "https", "apt-helper",
                "yt-dlp", "yt_dlp", "youtube-dl", "youtube_dl", "gallery-dl", "you-get", "streamlink",
                "megadl",
                "megatools", "gdown", "plowdown",
                "transmission-*", "qbittorrent*", "deluged", "deluge", "rtorrent", "ktorrent",
                // Network copy programs that keep a partial file for the next run.
                "rsync", "rclone", "unison*", "zrepl", "s3cmd", "aws", "gsutil", "azcopy",
            ]
        ),
        (
            .serving,
            [
                "sftp-server", "sshd", "sshd-session", "scp", "dropbear",
                "nginx", "apache2", "httpd", "lighttpd", "caddy", "wsgidav", "webdav", "gunicorn", "uwsgi",
                "uvicorn",
                "vsftpd", "proftpd", "pure-ftpd*", "in.tftpd", "atftpd", "ftpd",
                "kdeconnectd", "gsconnect-*", "obexd", "localsend*", "warpinator*", "croc", "wormhole",
                "syncthing",
            ]
        ),
        (.closing, ["smbd"]),
    ]
}

/// The meaning of exit statuses other than 0.
public enum StatusMeaning: Hashable, Sendable {
    /// All mean failure.
    case failure
    /// All but these mean failure; these are results.
    case failureExcept([Int32])
    /// Only these, and those of ends by a signal (from 128 on), mean failure; the script chooses the others.
    case failureOnly([Int32])
    /// None; the status is that of the last command that the program ran.
    case nothing

    func isFailure(_ status: Int32) -> Bool {
        guard status != 0 else { return false }
        return switch self {
        case .failure: true
        case .failureExcept(let results): !results.contains(status)
        case .failureOnly(let failures): failures.contains(status) || status >= 128
        case .nothing: false
        }
    }
}

extension StatusMeaning {
    /// By program name. Others have `failure`.
    static let table: [(meaning: StatusMeaning, programs: [String])] = [
        // Result of a comparison or search.
        (
            .failureExcept([1]),
            ["diff", "diff3", "sdiff", "cmp", "grep", "egrep", "fgrep", "zgrep", "rg", "ag"]
        ),
        // A warning; the output is complete.
        (.failureExcept([1]), ["tar", "unzip", "7z", "7za", "7zz", "7zr"]),
        (.failureExcept([3]), ["qpdf"]),
        // Source files vanished during the copy.
        (.failureExcept([24]), ["rsync"]),
        (.nothing, ["sh", "bash", "dash", "zsh", "ksh*", "mksh", "fish", "busybox"]),
        // An uncaught error.
        (.failureOnly([1, 120]), ["python*", "pypy*"]),
        (.failureOnly([1]), ["ruby*", "node", "nodejs"]),
        // An uncaught error of perl ends it with any number, that of the system's last error.
    ]
}
