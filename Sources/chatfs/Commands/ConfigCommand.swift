import Base
import CommandLineKit
import Configuration
import Glibc
import Posix

/// `chatfs config`: the file with mounts and their options.
enum ConfigCommand {
    private static let name = Argument(
        optional: "NAME", .listed("mounts"), "A mount of the file; default all.")
    private static let json = Option.flag("json", "Print one JSON object per line for each mount.")

    static let command = Command(
        "config", "Check, show or edit the configuration.",
        discussion: """
            The file is ${XDG_CONFIG_HOME:-~/.config}/chatfs/config.toml, in TOML. Its table [mount] has options of \
            every mount, by their long names without the dashes. [mounts.NAME] has those of the mount NAME, and its \
            folder as mountpoint = "FOLDER"; 'chatfs mount NAME' mounts it. [mounts.NAME.chats.CHAT] has rules of a \
            chat, by the name of its folder: mute = true, keep = "all" (never, media), and the options of 'chatfs keep \
            set'. 'chatfs config edit' creates a missing file with an example.

            The options of a mount replace those of every mount, and those of the command line replace both: \
            --no-finish=false turns off what the file sets. A change takes effect at the next mount.
            """,
        section: CommandSection.data,
        subcommands: [
            Command("path", "Print the path of the file.") { _ in
                Terminal.print(ConfigurationAccess.file.path)
            },
            Command(
                "check", "Read the file and report the first error with its line.",
                examples: [
                    Example("chatfs config check && chatfs mount home", "Mount only if the file is valid.")
                ]
            ) { _ in
                let configuration = try await read()
                let count = configuration.mounts.count
                Terminal.print(
                    "\(ConfigurationAccess.file.path) is valid: \(count) \(count == 1 ? "mount" : "mounts").")
            },
            Command(
                "show", "Print the effective options of each mount.",
                arguments: [name], options: [json]
            ) { invocation in
                let configuration = try await read()
                for mount in try mounts(of: configuration, named: invocation[name]) {
                    let shown = ShownMount(mount, options: configuration.options(of: mount))
                    let lines =
                        invocation[json] ? [try JSONLine.encoded(shown)] : shown.lines
                    for line in lines { Terminal.print(PrintableText.escaping(line)) }
                }
            },
            Command(
                "edit", "Open the file in $VISUAL or $EDITOR, then check it.",
                discussion: "A missing file is created with an example in comments."
            ) { _ in
                try await edit()
            },
        ])

    private static func read() async throws -> Configuration {
        try await ThreadPool.shared.run { () throws(ConfigurationError) in try ConfigurationAccess.read() }
    }

    private static func mounts(
        of configuration: Configuration, named name: String?
    ) throws -> [Configuration.Mount] {
        guard let name else { return configuration.mounts }
        guard let mount = configuration.mount(named: name) else {
            let names = configuration.mounts.map(\.name)
            throw Refusal(
                "The configuration has no mount '\(name)'" + Suggestion.text(for: name, among: names) + ".")
        }
        return [mount]
    }

    // MARK: - Edit

    private static func edit() async throws {
        let file = ConfigurationAccess.file
        try await ThreadPool.shared.run { () throws(ConfigurationError) in
            try file.createIfMissing(example: ConfigurationAccess.example)
        }
        // The variables may contain options, as in EDITOR="code --wait".
        var settings = ChildProcess.Settings(
            "/bin/sh", ["-c", "exec ${VISUAL:-${EDITOR:-sensible-editor}} \"$1\"", "sh", file.path])
        settings.input = .inherited
        let editor = try await ChildProcess.start(settings)
        var ending = editor.endingIfEnded()
        while ending == nil {
            try await Task.sleep(for: .milliseconds(50))
            ending = editor.endingIfEnded()
        }
        guard ending == .code(0) else {
            throw Refusal("The editor failed; set $EDITOR to a working editor.")
        }
        _ = try await read()
    }
}
