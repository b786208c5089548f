import ChatCore
import CommandLineKit
import EmbeddedCore
import Posix

/// `chatfs relay`: the relays of a profile for messages (SMP) and files (XFTP), and own relays.
enum RelayCommand {
    static let command = Command(
        "relay", "Choose the relays of a profile, or run one.",
        discussion: """
            Others reach a profile over a relay for messages (smp://), and files above 255 KiB go over one for files \
            (xftp://). A profile contacts those that were given to it, and those that a link or an approved file names; \
            it has none by itself. Without a command this is 'chatfs relay run'.
            """,
        section: CommandSection.other,
        subcommands: [list, add, remove, RelayTestCommand.command, RelayPresetCommand.command]
            + [RelayRunCommand.command, RelayUpkeepCommands.stat, RelayUpkeepCommands.purge], unnamed: "run")

    private static let addresses = Argument(
        "ADDR", .text, count: .oneOrMore, "smp://fingerprint@host:port or xftp://fingerprint@host:port.")
    private static let used = Argument(
        "ADDR", .listed("relays"), count: .oneOrMore, "As 'chatfs relay list' prints it.")

    private static let list = Command(
        "list", "Print the relays of a profile, one a line, without passwords.",
        options: [ProgramConnection.json, CommonOptions.profile, CommonOptions.mount]
            + CommonOptions.directory,
        examples: [Example("chatfs relay list", "Where messages and files go.")]
    ) { invocation in
        let relays = try await ProfileRelays(invocation)
        for relay in try await relays.list() {
            Terminal.print(
                invocation.has("json")
                    ? JSONLine.object([
                        ("for", relay.isForFiles ? "files" : "messages"), ("address", relay.text),
                    ])
                    : relay.text)
        }
    }

    private static let add = Command(
        "add", "Have a profile use relays.",
        discussion: """
            Files go over a new relay at once; people are met over one for messages from the next mount on. New contacts \
            and links use it: those that are there stay where they are.

            The password of a relay is in its address: smp://fingerprint:password@host. Given as -, addresses are read \
            from standard input, one a line, so that nobody sees them among the processes.
            """,
        arguments: [addresses],
        options: [CommonOptions.profile, CommonOptions.mount] + CommonOptions.directory,
        examples: [Example("chatfs relay add smp://…@relay.example xftp://…@relay.example", "One's own.")]
    ) { invocation in
        for text in invocation.allArguments("ADDR") { try GivenLink.require([.relay], text) }
        let added = try await AnyRelay.read(invocation)
        try await ProfileRelays(invocation).add(added)
    }

    private static let remove = Command(
        "remove", "Have a profile forget relays.",
        discussion: """
            What was uploaded to a relay stays there until it expires. Contacts that reach the profile over a relay for \
            messages go on doing so: new ones do not.
            """,
        arguments: [used], options: [CommonOptions.profile, CommonOptions.mount] + CommonOptions.directory,
        examples: [Example("chatfs relay remove xftp://…@relay.example", "No more files go there.")]
    ) { invocation in
        let removed = try await AnyRelay.read(invocation)
        try await ProfileRelays(invocation).remove(removed)
    }
}
