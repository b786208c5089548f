import Base
import Glibc
import Posix

/// The systemd unit that mounts at login: an instance of the template `chatfs@.service` for each mount.
enum ServiceUnit {
    static let template = "chatfs@.service"
    /// The targets that start it.
    static let targets = ["default.target", "graphical-session.target"]

    /// Returns the unit of a mount, such as `chatfs@my\x2dchats.service` (systemd-escape(1)).
    static func name(of mount: String) -> String {
        var escaped = ""
        for (index, byte) in mount.utf8.enumerated() {
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"):
                    true
                case UInt8(ascii: "."): index > 0
                default: false
                }
            escaped += isPlain ? String(UnicodeScalar(byte)) : "\\x" + Hexadecimal.encode([byte])
        }
        return template.replacing("@", with: "@" + escaped)
    }

    /// Returns systemd's search path for user units, in order (systemd.unit(5)).
    static func folders(home: String, configHome: String?, dataHome: String?) -> [String] {
        func absolute(_ path: String?) -> String? { path.flatMap { $0.isAbsolutePath ? $0 : nil } }
        return [
            ownFolder(home: home, configHome: configHome), "/etc/systemd/user",
            (absolute(dataHome) ?? home + "/.local/share") + "/systemd/user", "/usr/local/share/systemd/user",
            "/usr/share/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
        ]
    }

    /// Returns the folder for the user's own units.
    static func ownFolder(home: String, configHome: String?) -> String {
        (configHome.flatMap { $0.isAbsolutePath ? $0 : nil } ?? home + "/.config") + "/systemd/user"
    }

    /// Returns the template of contrib/systemd for a program at another path.
    ///
    /// - Parameter program: Absolute path.
    static func text(program: String) -> String {
        mark + "\n" + shared.replacing("ExecStart=chatfs ", with: "ExecStart=\(quoted(program)) ")
    }

    /// First line of a template from `chatfs service install`.
    static let mark = "# Made by 'chatfs service install', and removed by 'chatfs service uninstall'."

    /// Returns the path quoted as a word of a unit's command line.
    private static func quoted(_ path: String) -> String {
        // These characters begin specifiers and variables.
        let text = path.replacing("%", with: "%%").replacing("$", with: "$$")
        guard text.contains(where: { " \t\"'\\;".contains($0) }) else { return text }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Equal to the file in contrib/systemd after its first comment; a test compares them.
    static let shared = """
        [Unit]
        Description=Chats of SimpleX: %I
        Documentation=man:chatfs-service(1) man:chatfs(1)
        # The keyring and the message bus, if there are any. User units have no network target; the mount needs none and
        # connects when there is a network.
        After=dbus.socket gnome-keyring-daemon.socket
        # Logging out of a desktop ends the mount, also if another session keeps the manager. The order keeps the desktop from
        # waiting for the mount at login.
        PartOf=graphical-session.target
        After=graphical-session.target
        StartLimitIntervalSec=60
        StartLimitBurst=5

        [Service]
        # Ready when the folder is mounted. The status text summarises 'chatfs status' in one line.
        Type=notify
        NotifyAccess=main
        WorkingDirectory=%h
        Environment=OPTIONS=
        EnvironmentFile=-%E/chatfs/%i.conf
        ExecStart=chatfs mount %I $OPTIONS
        # Migrating the data for a new version may take long.
        TimeoutStartSec=15min
        # Time to queue copied files and delete the decrypted cache at logout.
        TimeoutStopSec=60
        # The mount ends its own processes.
        KillMode=mixed
        # A hanging mount would not react to another signal. systemd kills and restarts it.
        WatchdogSec=60
        WatchdogSignal=SIGKILL
        Restart=on-failure
        RestartSec=500ms
        # 64: wrong command line, or new data that needs a prompt. 77: the keyring stayed locked, or the given secret is wrong.
        # Restarting would repeat the prompt; 'chatfs service start' and the next login try again.
        RestartPreventExitStatus=64 77
        # Other hardening directives set no_new_privs in a user unit, which stops fusermount3, or give it a mount namespace,
        # which hides the folder from other programs. The program confines itself (docs/security/threat-model.md).
        UMask=0077
        LimitCORE=0

        [Install]
        # The desktop's target starts the mount again at the next login.
        WantedBy=default.target graphical-session.target

        """
}
