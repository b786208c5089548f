import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs relay`: the relays of a profile for messages (SMP) and files (XFTP), and own relays.
enum RelayCommand {
    static let command = Command(
        "relay", "Choose the relays of a profile, or run one.",
        discussion: """
            Contacts on the network reach a profile over relays for messages (smp://), and get its files over relays for \
            files (xftp://). Profiles of one data directory need relays only for files above 255 KiB. A new profile has \
            no relays. It contacts configured relays, and relays that a link or an approved file names. Without a \
            command this is 'chatfs relay run'.
            """,
        section: CommandSection.other,
        subcommands: [list, add, remove, RelayTestCommand.command, RelayPresetCommand.command]
            + [RelayRunCommand.command, RelayUpkeepCommands.stat, RelayUpkeepCommands.purge], unnamed: "run")

    private static let addresses = Argument(
        "ADDR", .text, count: .oneOrMore, "smp://fingerprint@host:port or xftp://fingerprint@host:port.")
    private static let used = Argument(
        "ADDR", .listed("relays"), count: .oneOrMore, "As 'chatfs relay list' prints it.")

    private static let list = Command(
        "list", "Print the relays of a profile, one per line, without passwords.",
        options: [ProgramConnection.json] + CommonOptions.ofProfile,
        examples: [Example("chatfs relay list", "List relays for messages and files.")]
    ) { invocation in
        let relays = try await ProfileRelays(invocation)
        for relay in try await relays.list() {
            Terminal.print(
                invocation[ProgramConnection.json]
                    ? JSONLine.object([
                        ("for", relay.isForFiles ? "files" : "messages"), ("address", relay.text),
                    ])
                    : relay.text)
        }
    }

    private static let add = Command(
        "add", "Add relays to a profile.",
        discussion: """
            A new relay for files is used at once; a relay for messages is used from the next mount. Only new contacts \
            and links use it; existing ones keep their relays.

            The password of a relay is in its address: smp://fingerprint:password@host. With -, addresses come from \
            standard input, one per line, which keeps them out of the list of processes.
            """,
        arguments: [addresses], options: CommonOptions.ofProfile,
        examples: [
            Example(
                "chatfs relay add smp://…@relay.example xftp://…@relay.example", "Add relays of your own.")
        ]
    ) { invocation in
        for text in invocation[addresses] { try GivenLink.require([.relay], text) }
        let added = try await AnyRelay.read(invocation[addresses])
        try await ProfileRelays(invocation).add(added)
    }

    private static let remove = Command(
        "remove", "Remove relays from a profile.",
        discussion: """
            Uploaded files stay on a relay until they expire. Existing contacts continue to use a removed relay for \
            messages; new contacts do not.
            """,
        arguments: [used], options: CommonOptions.ofProfile,
        examples: [Example("chatfs relay remove xftp://…@relay.example", "Stop uploading to this relay.")]
    ) { invocation in
        let removed = try await AnyRelay.read(invocation[used])
        try await ProfileRelays(invocation).remove(removed)
    }
}
