/// The script for fish: one `complete` line for each command and option.
enum FishCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "__\(program.replacing("-", with: "_"))_at"
        var lines = [
            "# fish completion of \(program)", "function \(function)", "    set -l path",
            "    set -l place ''",
            "    for word in (commandline -opc)[2..-1]", "        switch \"$place:$word\"",
        ]
        for command in entries.commands {
            lines += ["            case \(command.pattern)", "                set place '\(command.path)'"]
        }
        lines += ["        end", "    end", "    test \"$place\" = \"$argv[1]\"", "end"]
        lines.append("complete -c \(program) -f")
        for entry in entries {
            let here = "complete -c \(program) -n \"\(function) '\(entry.path)'\""
            for command in entry.subcommands {
                lines.append("\(here) -a \(command.name) -d \(quoted(command.abstract))")
            }
            for option in entry.options {
                let short = option.short.map { " -s \($0)" } ?? ""
                let value = option.type.map { " -r" + reply(CompletionKind($0)) } ?? ""
                lines.append("\(here)\(short) -l \(option.name)\(value) -d \(quoted(option.help))")
            }
            // fish offers what any of the arguments may be.
            for kind in entry.argumentKinds where !entry.isGroup && kind != .nothing {
                lines.append(here + reply(kind))
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func reply(_ kind: CompletionKind) -> String {
        switch kind {
        case .files: " -F"
        case .folders: " -a '(__fish_complete_directories)'"
        case .nothing: ""
        case .listed(let list): " -a '((commandline -opc)[1] complete \(list) 2>/dev/null)'"
        case .words(let words): " -a \(quoted(words.joined(separator: " ")))"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
