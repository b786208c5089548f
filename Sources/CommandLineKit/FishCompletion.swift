/// Generates the script for fish: one `complete` line for each command, option and argument, with a condition on the
/// position.
enum FishCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "__\(program.replacing("-", with: "_"))_at"
        let list = "__\(program.replacing("-", with: "_"))_list"
        var lines = ["# fish completion of \(program)"] + search(entries, function)
        lines += [
            "function \(list)", "    set -l words (commandline -opc)",
            "    set -l program (string replace -r '^~(?=/)' -- $HOME $words[1])",
            "    type -q -- $program; and $program complete $argv[1] -- $words[2..-1] 2>/dev/null", "end",
            "complete -c \(program) -f",
        ]
        for entry in entries {
            func here(_ places: String = "") -> String {
                "complete -c \(program) -n \"\(function) '\(entry.path)'\(places)\""
            }
            for command in entry.subcommands {
                lines.append("\(here(" 0 0")) -a \(command.name) -d \(quoted(command.abstract))")
            }
            for option in entry.options {
                let short = option.short.map { " -s \($0)" } ?? ""
                let value =
                    option.completion.map { option.type == nil ? reply($0, list) : accepted($0, list) } ?? ""
                lines.append("\(here())\(short) -l \(option.name)\(value) -d \(quoted(option.help))")
            }
            guard !entry.isGroup else { continue }
            let places = entry.places
            for (index, kinds) in places.first.enumerated() {
                for kind in kinds where kind != .nothing {
                    lines.append(here(" \(index) \(index)") + reply(kind, list))
                }
            }
            for kind in places.rest where kind != .nothing {
                lines.append(here(" \(places.first.count)") + reply(kind, list))
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Generates `FUNCTION PATH [FIRST [LAST]]`, which tests whether the cursor follows the command and that many of
    /// its arguments.
    private static func search(_ entries: [CompletionEntry], _ function: String) -> [String] {
        var lines = [
            "function \(function)", "    set -l place ''", "    set -l given 0", "    set -l skips 0",
            "    set -l ended 0", "    for word in (commandline -opc)[2..-1]",
            "        if test $skips = 1", "            set skips 0", "            continue", "        end",
            "        if test $ended = 0; and string match -q -- '-*' $word; and test \"$word\" != -",
            "            if test \"$word\" = --", "                set ended 1", "            end",
            "            switch \"$place:$word\"",
        ]
        for pattern in entries.valueOptionPatterns(separator: " ") {
            lines += ["                case \(pattern)", "                    set skips 1"]
        }
        lines.append("            end")
        for entry in entries {
            guard let unnamed = entry.unnamed else { continue }
            let own = [CompletionEntry].verbosity.joined(separator: " ")
            lines += [
                "            if test \"$place\" = '\(entry.path)'; and not contains -- $word -- \(own)",
                "                set place '\(unnamed)'", "            end",
            ]
        }
        lines += ["            continue", "        end", "        switch \"$place:$word\""]
        for command in entries.commands {
            lines += [
                "            case \(command.pattern)", "                set place '\(command.path)'",
                "                set given 0",
            ]
        }
        return lines + [
            "            case '*'", "                set given (math $given + 1)", "        end", "    end",
            "    test \"$place\" = \"$argv[1]\"; or return 1",
            "    if set -q argv[2]; and test $given -lt $argv[2]; return 1; end",
            "    if set -q argv[3]; and test $given -gt $argv[3]; return 1; end", "    return 0", "end",
        ]
    }

    /// Returns the flags for an option's value only.
    private static func accepted(_ kind: CompletionKind, _ list: String) -> String {
        kind == .files ? " -r -F" : " -x" + reply(kind, list)
    }

    private static func reply(_ kind: CompletionKind, _ list: String) -> String {
        switch kind {
        case .files: " -F"
        case .folders: " -a '(__fish_complete_directories)'"
        case .nothing: ""
        case .listed(let name): " -a '(\(list) \(name))'"
        case .words(let words): " -a \(quoted(words.joined(separator: " ")))"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
