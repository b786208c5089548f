/// The whole program as a page for man(1), from the same table as the help.
public enum ManualPage {
    /// A row of a table at the end of the page: a name, and what it is.
    public typealias Entry = (name: String, meaning: String)

    /// roff source of section 1. Deterministic: no date, so that packages build reproducibly.
    /// - Parameters:
    ///   - files: paths that the program reads and writes.
    ///   - environment: variables that it looks at.
    public static func text(
        for program: Command, version: String, files: [Entry] = [], environment: [Entry] = []
    ) -> String {
        var page = [
            ".TH \(escaped(program.name.uppercased())) 1 \"\" \"\(escaped(program.name)) \(escaped(version))\"",
            ".SH NAME", escaped(program.name) + " \\- " + escaped(program.abstract),
            ".SH SYNOPSIS", ".B \(escaped(program.name))", "COMMAND \\fR[\\fIoptions\\fR]",
            ".SH DESCRIPTION",
        ]
        page += body(Wrap.paragraphs(program.discussion))
        for (title, commands) in Help.sections(of: program) {
            page.append(".SH " + escaped((title.isEmpty ? "Commands" : title).uppercased()))
            for command in commands { page += entries(for: [program, command]) }
        }
        page.append(".SH OPTIONS OF EVERY COMMAND")
        for option in Verbosity.options + [Help.helpOption] { page += entry(for: option) }
        page += table("EXIT STATUS", ExitCode.meanings.map { (name: $0.code, meaning: $0.meaning) })
        page += table("ENVIRONMENT", environment) + table("FILES", files)
        return page.joined(separator: "\n") + "\n"
    }

    private static func table(_ title: String, _ entries: [Entry]) -> [String] {
        guard !entries.isEmpty else { return [] }
        return [".SH " + title]
            + entries.flatMap { [".TP", ".B \(escaped($0.name))", escaped($0.meaning)] }
    }

    private static func entry(for option: Option) -> [String] {
        let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
        let value = option.type == nil ? "" : " \\fI\(escaped(option.valueName))\\fR"
        return [
            ".TP", "\(short)\\fB\(escaped("--" + option.name))\\fR\(value)", escaped(Help.text(of: option)),
        ]
    }

    private static func entries(for path: [Command]) -> [String] {
        let command = path[path.count - 1]
        guard command.subcommands.isEmpty else {
            return command.subcommands.flatMap { entries(for: path + [$0]) }
        }
        var lines = [".SS " + escaped(Help.usage(of: Array(path)))]
        lines += body([command.abstract] + Wrap.paragraphs(command.discussion))
        for argument in command.arguments {
            lines += [".TP", ".I " + escaped(argument.name), escaped(Help.text(of: argument))]
        }
        for option in command.options { lines += entry(for: option) }
        if !command.examples.isEmpty { lines += [".PP", "Examples:"] }
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

    /// Text that roff takes literally: backslashes and dashes escaped, no request at a line's start.
    static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
