import Base
import CommandLineKit
import OfficialCore
import Posix

/// `chatfs phone`: the chats of a phone as folders, and the known phones.
enum PhoneCommands {
    static let command = Command(
        "phone", "Show the chats of your phone as folders.",
        discussion: """
            Open SimpleX on the phone and choose “Use from desktop”. The first time the phone scans a code; later it \
            connects by itself in the same network. While it is away its chats stay listed, files that were read \
            before stay readable, and files copied into a folder wait for it. Without a command this is 'chatfs phone \
            mount'.
            """,
        section: CommandSection.daily,
        examples: [
            Example("chatfs phone ~/Phone", "Mount the phone; the first time, show a code to scan."),
            Example("chatfs phone save --all ~/Backup", "Save all files of the phone, decrypted."),
        ],
        subcommands: [mount, list, rename, forget, PhoneSaving.command], unnamed: "mount")

    /// Options of `chatfs mount` for other cores.
    private static let others: [any OptionDeclaration] =
        CommonOptions.official + [
            CommonOptions.profile, CommonOptions.relay, MountOptions.proxy, MountOptions.relayPolicy,
        ]
    private static let mountpoint = Argument(
        "MOUNTPOINT", .folder, "An empty folder, created if it is missing.")

    private static let mount = Command.beginningAlone(
        "mount", "Show the chats of your phone as folders.",
        discussion: """
            Prints one line when the folder is ready and runs until 'chatfs unmount', SIGINT (Ctrl-C), SIGTERM or \
            SIGHUP. The first time it shows a link, and a code of digits to compare with the phone. Without further \
            options the mount marks no message on the phone as read and deletes none.
            """,
        arguments: [mountpoint],
        options: [PhoneOptions.phone] + LinkDisplay.options
            + MountOptions.all.filter { option in !others.contains { $0.name == option.name } },
        examples: [
            Example("chatfs phone ~/Phone", "Mount the only phone, or pair the first one."),
            Example(
                "chatfs phone ~/Work --name work --policy phone-only", "Do not make the phone receive files."),
            Example(
                "chatfs phone ~/Phone --listen 0.0.0.0:5555 --host my.example.org:5555",
                "Use a forwarded port."),
        ],
        waitsForStop: true
    ) { invocation in
        try MountCommand.begin(invocation) {
            var settings = try MountSettings.configured(
                invocation, mountpoint: invocation[mountpoint],
                phone: OfficialCoreChoice(core: PhoneOptions.core(invocation)))
            settings.phoneDisplay = try LinkDisplay(invocation)
            return settings
        }
    }

    private static let list = Command(
        "list", "Print the known phones, one per line.",
        discussion: "Each line has the name here, the phone's own name, and the time of the last connection.",
        options: [ProgramConnection.json] + CommonOptions.directory,
        examples: [Example("chatfs phone list", "Print names for --name and --core phone:NAME.")]
    ) { invocation in
        for phone in try await KnownPhones(invocation).all() {
            let (device, seen) = (phone.device ?? "", phone.seen?.text ?? "")
            Terminal.print(
                invocation[ProgramConnection.json]
                    ? JSONLine.object([("name", phone.name), ("device", device), ("seen", seen)])
                    : PrintableText.escaping(
                        [phone.name, device, seen].filter { !$0.isEmpty }.joined(separator: "\t")))
        }
    }

    private static let named = Argument("NAME", .text, "As 'chatfs phone list' prints it.")
    private static let new = Argument("NEW", .text, "The new name.")

    private static let rename = Command(
        "rename", "Rename a phone on this computer.",
        discussion: "The phone must not be mounted, and is not notified.",
        arguments: [named, new], options: CommonOptions.directory,
        examples: [Example("chatfs phone rename phone work", "Use --name work from now on.")]
    ) { invocation in
        try await KnownPhones(invocation).rename(invocation[named], to: invocation[new])
    }

    private static let forget = Command(
        "forget", "Delete all data of a phone from this computer.",
        discussion: """
            Deletes the pairing keys, the list of chats, local copies of files, and queued files. The phone must not \
            be mounted. The phone itself does not change: remove this computer there under “Use from desktop”, “Linked \
            desktops”.
            """,
        arguments: [named], options: CommonOptions.directory,
        examples: [Example("chatfs phone forget work", "Forget the phone work; its files stay on it.")]
    ) { invocation in
        try await KnownPhones(invocation).forget(invocation[named])
    }
}
