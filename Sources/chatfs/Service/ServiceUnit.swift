import Base
import Glibc
import Posix

/// The unit of systemd that mounts at login: the template `chatfs@.service`, whose instances are names of mounts.
enum ServiceUnit {
    static let template = "chatfs@.service"
    /// The targets that start it.
    static let targets = ["default.target", "graphical-session.target"]

    /// The unit of a mount: `chatfs@my\x2dchats.service` (systemd-escape(1)).
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

    /// The folders where systemd looks for units of users, the first first (systemd.unit(5)).
    static func folders(home: String, configHome: String?, dataHome: String?) -> [String] {
        func absolute(_ path: String?) -> String? { path.flatMap { $0.isAbsolutePath ? $0 : nil } }
        return [
            ownFolder(home: home, configHome: configHome), "/etc/systemd/user",
            (absolute(dataHome) ?? home + "/.local/share") + "/systemd/user", "/usr/local/share/systemd/user",
            "/usr/share/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
        ]
    }

    /// The folder for units that a user makes.
    static func ownFolder(home: String, configHome: String?) -> String {
        (configHome.flatMap { $0.isAbsolutePath ? $0 : nil } ?? home + "/.config") + "/systemd/user"
    }

    /// The template of contrib/systemd for a program that was not installed with it.
    ///
    /// - Parameter program: absolute.
    static func text(program: String) -> String {
        mark + "\n" + shared.replacing("ExecStart=chatfs ", with: "ExecStart=\(quoted(program)) ")
    }

    /// The first line of a template that `chatfs service install` wrote.
    static let mark = "# Made by 'chatfs service install', and removed by 'chatfs service uninstall'."

    /// A word of a command line in a unit.
    private static func quoted(_ path: String) -> String {
        // Specifiers and variables begin with these.
        let text = path.replacing("%", with: "%%").replacing("$", with: "$$")
        guard text.contains(where: { " \t\"'\\;".contains($0) }) else { return text }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// What contrib/systemd has after its comment; a test compares them.
    static let shared = """
        [Unit]
        Description=Chats of SimpleX: %I
        Documentation=man:chatfs-service(1) man:chatfs(1)
        # The keyring and the message bus, if there are any, so that they end after the mount. There is no target of the network
        # for units of users: the mount needs none, and connects when there is a network.
        After=dbus.socket gnome-keyring-daemon.socket
        # Logging out of a desktop ends the mount, also if another session keeps the manager. The order keeps the desktop from
        # waiting for the mount at login.
        PartOf=graphical-session.target
        After=graphical-session.target
        StartLimitIntervalSec=60
        StartLimitBurst=5

        [Service]
        # Ready when the folder can be used. The status is what 'chatfs status' says, in one line.
        Type=notify
        NotifyAccess=main
        WorkingDirectory=%h
        Environment=OPTIONS=
        EnvironmentFile=-%E/chatfs/%i.conf
        ExecStart=chatfs mount %I $OPTIONS
        # A change of the data for a new version may take its time.
        TimeoutStartSec=15min
        # At logout: what was copied in is queued, the decrypted cache is removed.
        TimeoutStopSec=60
        # The mount ends its own processes.
        KillMode=mixed
        # A mount that answers nothing is killed, since it would not hear another signal, and started again.
        WatchdogSec=60
        WatchdogSignal=SIGKILL
        Restart=on-failure
        RestartSec=500ms
        # The command line is wrong, or the data cannot be made without a question (64); or the keyring was left locked, or what
        # should unlock the data does not (77): nobody is asked again and again. 'chatfs service start' does, and the next login.
        RestartPreventExitStatus=64 77
        # All that users may have. Any other directive of hardening sets no_new_privs in a unit of a user, or gives it mounts
        # of its own: then fusermount3 could not mount, or nobody would see the folder. The program confines itself
        # (docs/security/threat-model.md).
        UMask=0077
        LimitCORE=0

        [Install]
        # The desktop's target starts the mount again at the next login.
        WantedBy=default.target graphical-session.target

        """
}
