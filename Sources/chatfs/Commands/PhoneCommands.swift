import Base
import CommandLineKit
import OfficialCore
import Posix

/// `chatfs phone`: the chats of a phone as folders, and the phones that are known.
enum PhoneCommands {
    static let command = Command(
        "phone", "Show the chats of your phone as folders.",
        discussion: """
            The phone connects to this computer when SimpleX is open on it and “Use from desktop” is chosen: the first \
            time by a code that it scans, later by itself in the same network. While it is away its chats stay listed, and \
            what was read once can be read; what is copied into a folder is sent when it is back. Without a command this \
            is 'chatfs phone mount'.
            """,
        section: CommandSection.daily,
        examples: [
            Example("chatfs phone ~/Phone", "Shows a code to scan the first time."),
            Example("chatfs phone save --all ~/Backup", "All files of the phone, in clear."),
        ],
        subcommands: [mount, list, rename, forget, PhoneSaving.command], unnamed: "mount")

    /// Those of `chatfs mount` that are about another core.
    private static let others: Set<String> = [
        "profile", "relay", "core", "database", "files-folder", "database-passphrase-fd", "socks-proxy",
        "relay-policy",
    ]

    private static let mount = Command.beginningAlone(
        "mount", "Show the chats of your phone as folders.",
        discussion: """
            Prints one line when the folder is ready and stays until 'chatfs unmount', SIGINT (Ctrl-C), SIGTERM or SIGHUP. \
            The first time it shows a link, and a code of digits that must be the one on the phone. Nothing is marked as \
            read there, and nothing is deleted, unless an option says so.
            """,
        arguments: [
            Argument("MOUNTPOINT", .folder, "An empty folder; made when it is missing.")
        ],
        options: [PhoneOptions.phone] + LinkDisplay.options
            + MountCommand.command.options.filter { !others.contains($0.name) },
        examples: [
            Example("chatfs phone ~/Phone", "The only phone, or a first one."),
            Example(
                "chatfs phone ~/Work --name work --policy phone-only", "Nothing is received on it for this."),
            Example(
                "chatfs phone ~/Phone --listen 0.0.0.0:5555 --host my.example.org:5555", "A forwarded port."),
        ],
        waitsForStop: true
    ) { invocation in
        try MountCommand.begin(invocation) {
            let named = invocation["name"].map { "phone:" + $0 } ?? "phone"
            var settings = try MountSettings.configured(
                invocation, options: MountCommand.command.options,
                phone: OfficialCoreChoice(core: named, database: nil))
            settings.phoneDisplay = try LinkDisplay(invocation)
            return settings
        }
    }

    private static let list = Command(
        "list", "Print the phones that are known, one a line.",
        discussion: "Each with its name here, its own name, and when it was last connected.",
        options: [.flag("json", "For programs: one JSON object a line.")] + CommonOptions.directory,
        examples: [Example("chatfs phone list", "Names for --name and --core phone:NAME.")]
    ) { invocation in
        for phone in try await KnownPhones(invocation).all() {
            let (device, seen) = (phone.device ?? "", phone.seen?.text ?? "")
            Terminal.print(
                invocation.has("json")
                    ? JSONLine.object([("name", phone.name), ("device", device), ("seen", seen)])
                    : PrintableText.escaping(
                        [phone.name, device, seen].filter { !$0.isEmpty }.joined(separator: "\t")))
        }
    }

    private static let named = Argument("NAME", .text, "As 'chatfs phone list' prints it.")

    private static let rename = Command(
        "rename", "Call a phone otherwise on this computer.",
        discussion: "It must not be mounted. The phone is told nothing.",
        arguments: [named, Argument("NEW", .text, "The new name.")], options: CommonOptions.directory,
        examples: [Example("chatfs phone rename phone work", "From then on --name work.")]
    ) { invocation in
        try await KnownPhones(invocation).rename(invocation.argument("NAME"), to: invocation.argument("NEW"))
    }

    private static let forget = Command(
        "forget", "Remove everything that this computer has of a phone.",
        discussion: """
            The keys of the pairing, the list of its chats, what was read of its files, and what waits to be sent. It must \
            not be mounted. On the phone nothing changes: remove this computer there under “Use from desktop”, “Linked \
            desktops”.
            """,
        arguments: [named], options: CommonOptions.directory,
        examples: [Example("chatfs phone forget work", "Files that the phone has stay on it.")]
    ) { invocation in
        try await KnownPhones(invocation).forget(invocation.argument("NAME"))
    }
}
