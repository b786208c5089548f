/// The script for zsh: finds the command among the words, then describes what may follow.
enum ZshCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "_" + program.replacing("-", with: "_")
        var lines = ["#compdef \(program)", "\(function)() {"] + search(entries)
        lines.append("    case \"$path_:${words[CURRENT-1]}\" in")
        for option in entries.valuedOptions(separator: "|") {
            lines.append("        \(option.pattern)) \(reply(option.kind)); return ;;")
        }
        lines += ["    esac", "    case \"$path_\" in"] + entries.flatMap(possibilities)
        lines += [
            "    esac", "}", "if [[ \"$funcstack[1]\" == \(function) ]]; then \(function) \"$@\"",
            "else compdef \(function) \(program); fi", "",
        ]
        return lines.joined(separator: "\n")
    }

    /// Finds the command among the words before the present one, and counts its arguments.
    private static func search(_ entries: [CompletionEntry]) -> [String] {
        var lines = [
            "    local path_='' i count=0", "    local -a found",
            "    for ((i = 2; i < CURRENT; i++)); do", "        case \"$path_:${words[i]}\" in",
        ]
        for command in entries.commands {
            lines.append("            \(command.pattern)) path_='\(command.path)' count=0 ;;")
        }
        for pattern in entries.valueOptionPatterns(separator: "|") {
            lines.append("            \(pattern)) ((i++)) ;;")
        }
        return lines + [
            "            *:-*) ;;", "            *) ((count++)) ;;", "        esac", "    done",
        ]
    }

    /// What may follow a command: its options, its subcommands or its arguments.
    private static func possibilities(_ entry: CompletionEntry) -> [String] {
        let options = entry.options.map { quoted("--" + $0.name, $0.help) }.joined(separator: " ")
        var lines = [
            "        '\(entry.path)')", "            if [[ \"${words[CURRENT]}\" == -* ]]; then",
            "                found=(\(options)); _describe option found -o",
        ]
        if entry.isGroup {
            let commands = entry.subcommands.map { quoted($0.name, $0.abstract) }.joined(separator: " ")
            lines += ["            else", "                found=(\(commands)); _describe command found"]
        } else {
            lines.append("            else case $count in")
            for (index, kind) in entry.argumentKinds.enumerated() {
                let place = index == entry.argumentKinds.count - 1 ? "*" : "\(index)"
                lines.append("                \(place)) \(reply(kind)) ;;")
            }
            lines.append("                esac")
        }
        return lines + ["            fi ;;"]
    }

    private static func reply(_ kind: CompletionKind) -> String {
        switch kind {
        case .files: "_files"
        case .folders: "_files -/"
        case .nothing: "true"
        case .listed(let list):
            "found=(\"${(@f)$(\"${words[1]}\" complete \(list) 2>/dev/null)}\"); compadd -a found"
        case .words(let words): "compadd -- " + words.joined(separator: " ")
        }
    }

    /// `'name:meaning'` for `_describe`.
    private static func quoted(_ name: String, _ meaning: String) -> String {
        "'\(name):\(meaning.replacing(":", with: "\\:").replacing("'", with: "'\\''"))'"
    }
}
