/// Formats the help of a command. Pure: the width is an argument.
public enum Help {
    /// Returns the help of the last command of `path`, which begins with the program.
    public static func text(for path: [Command], width: Int) -> String {
        let command = path[path.count - 1]
        var sections: [String] = [Wrap.paragraph(command.abstract, width: width)]
        sections.append(Wrap.hanging("Usage: ", usage(of: path), width: width))
        for paragraph in Wrap.paragraphs(command.discussion) {
            sections.append(Wrap.paragraph(paragraph, width: width))
        }
        sections += commandLists(of: command, width: width)
        if !command.arguments.isEmpty {
            sections.append(columns("Arguments:", command.arguments.map { ($0.usage, text(of: $0)) }, width))
        }
        sections.append(columns("Options:", optionRows(of: command, isProgram: path.count == 1), width))
        if !command.examples.isEmpty {
            let lines = command.examples.map { example in
                "  $ \(example.line)\n" + Wrap.paragraph(example.meaning, width: width, indent: 6)
            }
            sections.append("Examples:\n" + lines.joined(separator: "\n"))
        }
        if !command.subcommands.isEmpty {
            let name = path.map(\.name).joined(separator: " ")
            sections.append(Wrap.paragraph("'\(name) COMMAND --help' explains a command.", width: width))
        }
        return sections.joined(separator: "\n\n")
    }

    static func usage(of path: [Command]) -> String {
        let command = path[path.count - 1]
        var words = [path.map(\.name).joined(separator: " ")]
        if !command.subcommands.isEmpty { words.append("COMMAND …") }
        words += command.arguments.map(\.usage)
        words += command.options.map { "[\($0.usage)]\($0.repeats ? "…" : "")" }
        return words.joined(separator: " ")
    }

    /// Returns the help of an argument with its default.
    static func text(of argument: any ArgumentDeclaration) -> String {
        argument.help + (argument.defaultText.map(text(ofDefault:)) ?? "")
    }

    private static func text(ofDefault value: String) -> String {
        " Default: " + value + (value.hasSuffix(".") ? "" : ".")
    }

    static func text(of option: any OptionDeclaration) -> String {
        var text = option.help
        if case .choice(let words)? = option.type, !isListed(words, in: text) {
            text += " One of: \(words.joined(separator: ", "))."
        }
        if let defaultText = option.defaultText { text += Help.text(ofDefault: defaultText) }
        if option.repeats { text += " May be repeated." }
        if option.isConfigurable { text += " With =false off, even if the configuration sets it." }
        return text
    }

    /// Returns true if the text already names all the words.
    private static func isListed(_ words: [String], in text: String) -> Bool {
        let own = text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }
        return words.allSatisfy { own.contains(Substring($0)) }
    }

    static let helpOption = Option.flag("help", short: "h", "Show this help.")
    static let versionOption = Option.flag("version", "Show the version.")

    static func allOptions(of command: Command, isProgram: Bool) -> [any OptionDeclaration] {
        command.options + commonOptions(of: command) + [helpOption] + (isProgram ? [versionOption] : [])
    }

    /// Returns the options common to all commands, minus those that the command defines itself.
    static func commonOptions(of command: Command) -> [any OptionDeclaration] {
        Verbosity.options.filter { common in !command.options.contains { $0.name == common.name } }.map {
            common in
            guard command.options.contains(where: { $0.short == common.short }) else { return common }
            return Option.flag(common.name, common.help)
        }
    }

    /// Returns the sections in order of first occurrence, with their commands.
    static func sections(of command: Command) -> [(title: String, commands: [Command])] {
        var result: [(title: String, commands: [Command])] = []
        for subcommand in command.subcommands where !subcommand.isHidden {
            if let index = result.firstIndex(where: { $0.title == subcommand.section }) {
                result[index].commands.append(subcommand)
            } else {
                result.append((subcommand.section, [subcommand]))
            }
        }
        return result
    }

    private static func commandLists(of command: Command, width: Int) -> [String] {
        let longest = command.subcommands.filter { !$0.isHidden }.map(\.name.count).max() ?? 0
        return sections(of: command).map { title, commands in
            columns(
                (title.isEmpty ? "Commands" : title) + ":", commands.map { ($0.name, $0.abstract) }, width,
                left: longest)
        }
    }

    private static func optionRows(of command: Command, isProgram: Bool) -> [(String, String)] {
        allOptions(of: command, isProgram: isProgram).map { option in
            ((option.short.map { "-\($0), " } ?? "    ") + option.usage, text(of: option))
        }
    }

    private static func columns(
        _ title: String, _ rows: [(String, String)], _ width: Int, left: Int? = nil
    ) -> String {
        // Half of the width for texts, so that narrow terminals do not show one word per line.
        let column = min(left ?? rows.map(\.0.count).max() ?? 0, 28, width / 2 - 4) + 4
        let lines = rows.map { name, text in
            let start = "  " + name
            if start.count + 2 > column {
                return start + "\n" + Wrap.paragraph(text, width: width, indent: column)
            }
            return Wrap.hanging(start.padded(to: column), text, width: width)
        }
        return ([title] + lines).joined(separator: "\n")
    }
}

extension String {
    /// Pads with spaces to at least `count` characters.
    func padded(to count: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, count - self.count))
    }
}
