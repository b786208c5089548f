/// `help COMMAND`, equivalent to `COMMAND --help`.
public enum HelpCommand {
    private static let words = Argument(
        "COMMAND", .listed("commands"), count: .any, "Words of a command, such as file send; default all.")

    /// - Parameter section: Heading in the list of commands.
    public static func command(section: String) -> Command {
        Command("help", "Explain a command.", section: section, arguments: [words]) { invocation in
            let path = try path(to: invocation[words], in: invocation.program)
            Terminal.print(Help.text(for: path, width: Terminal.width()))
        }
    }

    /// Returns the words that may follow after `help`, for completions.
    public static func next(after words: [String], in program: Command) -> [String] {
        guard let path = try? path(to: words, in: program) else { return [] }
        return path[path.count - 1].subcommands.filter { !$0.isHidden }.map(\.name)
    }

    private static func path(to words: [String], in program: Command) throws(UsageError) -> [Command] {
        var path = [program]
        for word in words {
            let known = path[path.count - 1].subcommands
            guard let next = known.first(where: { $0.name == word }) else {
                throw UsageError("unknown command '\(word)'" + path[path.count - 1].suggestion(for: word))
            }
            path.append(next)
        }
        return path
    }
}
