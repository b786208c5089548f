/// The script for bash: one function that finds the command among the words, then answers.
enum BashCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "_" + program.replacing("-", with: "_")
        var lines = [
            "# bash completion of \(program)", "\(function)() {",
            "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" path=\"\" i count=0",
            "    for ((i = 1; i < COMP_CWORD; i++)); do", "        case \"$path:${COMP_WORDS[i]}\" in",
        ]
        for command in entries.commands {
            lines.append("            \(command.pattern)) path='\(command.path)' count=0 ;;")
        }
        for pattern in entries.valueOptionPatterns(separator: " | ") {
            lines.append("            \(pattern)) i=$((i + 1)) ;;")
        }
        lines += ["            *:-*) ;;", "            *) count=$((count + 1)) ;;"]
        lines += ["        esac", "    done", "    case \"$path:$before\" in"]
        for option in entries.valuedOptions(separator: " | ") {
            lines.append("        \(option.pattern)) \(reply(option.kind, function)); return ;;")
        }
        lines += ["    esac", "    case \"$path:$count:$word\" in"]
        for entry in entries {
            let options = entry.options.map { "--" + $0.name }.joined(separator: " ")
            let words = entry.subcommands.map(\.name).joined(separator: " ")
            lines.append("        '\(entry.path)':*:-*) \(reply(.words([options]), function)) ;;")
            let kinds = entry.isGroup ? [.words([words])] : entry.argumentKinds
            for (index, kind) in kinds.enumerated() {
                let place = index == kinds.count - 1 ? "*" : "\(index)"
                lines.append("        '\(entry.path)':\(place):*) \(reply(kind, function)) ;;")
            }
        }
        lines +=
            ["    esac", "}"] + listFunction(function) + [
                "complete -o filenames -F \(function) \(program)", "",
            ]
        return lines.joined(separator: "\n")
    }

    /// Offers the lines of a list that begin with the word. Names come from other people: they are only
    /// compared and quoted (`-o filenames` does that), never expanded, as `compgen -W` would.
    private static func listFunction(_ function: String) -> [String] {
        [
            "\(function)_list() {", "    local line", "    COMPREPLY=()", "    while IFS= read -r line; do",
            "        [[ \"$line\" == \"$2\"* ]] && COMPREPLY+=(\"$line\")",
            "    done < <(\"${COMP_WORDS[0]}\" complete \"$1\" 2>/dev/null)", "}",
        ]
    }

    private static func reply(_ kind: CompletionKind, _ function: String) -> String {
        switch kind {
        case .files: "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
        case .folders: "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")"
        case .nothing: "COMPREPLY=()"
        case .listed(let list): "\(function)_list '\(list)' \"$word\""
        case .words(let words):
            "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$word\")"
        }
    }
}
