/// Pages for man(1) from the same table as the help: one for the whole program, or one for each command.
public enum ManualPage {
    /// A row of a table at the end of the page.
    public typealias Entry = (name: String, meaning: String)

    /// Returns roff source of section 1 with every command. Deterministic: without a date, for reproducible packages.
    /// - Parameters:
    ///   - files: Paths that the program reads and writes.
    ///   - environment: Variables that it reads.
    public static func text(
        for program: Command, version: String, files: [Entry] = [], environment: [Entry] = []
    ) -> String {
        page(of: program, version, files, environment) { commands in
            commands.flatMap { entries(for: [program, $0]) }
        }
    }

    /// Returns the page with one line for each command, whose page is `name(of:in:)`.
    public static func overview(
        of program: Command, version: String, files: [Entry] = [], environment: [Entry] = []
    ) -> String {
        page(of: program, version, files, environment) { commands in
            commands.flatMap {
                [".TP", ".BR \(escaped(name(of: $0, in: program))) (1)", escaped($0.abstract)]
            }
        }
    }

    /// Returns the page of one command with its subcommands.
    public static func text(of command: Command, in program: Command, version: String) -> String {
        let name = name(of: command, in: program)
        var page = head(name, command.abstract, program, version)
        page += [".SH SYNOPSIS"]
        let leaves = leaves(of: [program, command])
        for (number, leaf) in leaves.enumerated() {
            page += (number > 0 ? [".br"] : []) + [escaped(Help.usage(of: leaf))]
        }
        page.append(".SH DESCRIPTION")
        let discussion = Wrap.paragraphs(command.discussion)
        page += body(discussion.isEmpty ? [command.abstract] : discussion)
        if command.subcommands.isEmpty {
            page += details(of: command, heading: ".SH")
        } else {
            page.append(".SH COMMANDS")
            page += entries(for: [program, command])
        }
        page.append(".SH SEE ALSO")
        page.append(".BR \(escaped(program.name)) (1)")
        return page.joined(separator: "\n") + "\n"
    }

    /// Returns the page name of a command without its section.
    public static func name(of command: Command, in program: Command) -> String {
        "\(program.name)-\(command.name)"
    }

    private static func page(
        of program: Command, _ version: String, _ files: [Entry], _ environment: [Entry],
        commands: ([Command]) -> [String]
    ) -> String {
        var page = head(program.name, program.abstract, program, version)
        page += [".SH SYNOPSIS", ".B \(escaped(program.name))", "COMMAND \\fR[\\fIoptions\\fR]"]
        page.append(".SH DESCRIPTION")
        page += body(Wrap.paragraphs(program.discussion))
        for (title, members) in Help.sections(of: program) {
            page.append(".SH " + escaped((title.isEmpty ? "Commands" : title).uppercased()))
            page += commands(members)
        }
        page.append(".SH OPTIONS OF EVERY COMMAND")
        for option in Verbosity.options + [Help.helpOption] { page += entry(for: option) }
        page += table("EXIT STATUS", ExitCode.meanings.map { (name: $0.code, meaning: $0.meaning) })
        page += table("ENVIRONMENT", environment) + table("FILES", files)
        return page.joined(separator: "\n") + "\n"
    }

    private static func head(
        _ name: String, _ abstract: String, _ program: Command, _ version: String
    ) -> [String] {
        [
            ".TH \(escaped(name.uppercased())) 1 \"\" \"\(escaped(program.name)) \(escaped(version))\"",
            ".SH NAME", escaped(name) + " \\- " + escaped(abstract),
        ]
    }

    /// Returns the runnable commands below a path.
    private static func leaves(of path: [Command]) -> [[Command]] {
        let command = path[path.count - 1]
        if command.subcommands.isEmpty { return [path] }
        return command.subcommands.filter { !$0.isHidden }.flatMap { leaves(of: path + [$0]) }
    }

    private static func table(_ title: String, _ entries: [Entry]) -> [String] {
        guard !entries.isEmpty else { return [] }
        return [".SH " + title]
            + entries.flatMap { [".TP", ".B \(escaped($0.name))", escaped($0.meaning)] }
    }

    private static func entry(for option: any OptionDeclaration) -> [String] {
        let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
        let none = option.isConfigurable ? "[=\\fIfalse\\fR]" : ""
        let value = option.type == nil ? none : " \\fI\(escaped(option.valueName))\\fR"
        return [
            ".TP", "\(short)\\fB\(escaped("--" + option.name))\\fR\(value)", escaped(Help.text(of: option)),
        ]
    }

    private static func entries(for path: [Command]) -> [String] {
        let command = path[path.count - 1]
        guard command.subcommands.isEmpty else {
            return command.subcommands.flatMap { entries(for: path + [$0]) }
        }
        return [".SS " + escaped(Help.usage(of: Array(path)))]
            + body([command.abstract] + Wrap.paragraphs(command.discussion)) + details(of: command)
    }

    /// - Parameter heading: The request that begins a part of the page; nil for no headings.
    private static func details(of command: Command, heading: String? = nil) -> [String] {
        var lines: [String] = []
        if let heading, !(command.arguments.isEmpty && command.options.isEmpty) {
            lines.append(heading + " OPTIONS")
        }
        for argument in command.arguments {
            lines += [".TP", ".I " + escaped(argument.name), escaped(Help.text(of: argument))]
        }
        for option in command.options { lines += entry(for: option) }
        if !command.examples.isEmpty { lines += heading.map { [$0 + " EXAMPLES"] } ?? [".PP", "Examples:"] }
        for example in command.examples {
            lines += [
                ".PP", ".nf", "$ " + escaped(example.line), ".fi", ".RS", escaped(example.meaning), ".RE",
            ]
        }
        return lines
    }

    private static func body(_ paragraphs: [String]) -> [String] {
        paragraphs.flatMap { [".PP", escaped($0)] }
    }

    /// Escapes text for roff: backslashes, dashes, and request characters at the start of a line.
    static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
