/// The script for bash: one function that finds the command among the words, then answers.
enum BashCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "_" + program.replacing("-", with: "_")
        var lines = [
            "# bash completion of \(program)", "\(function)() {",
            "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" path=\"\" i",
            "    for ((i = 1; i < COMP_CWORD; i++)); do", "        case \"$path:${COMP_WORDS[i]}\" in",
        ]
        for entry in entries {
            for command in entry.subcommands {
                let path = (entry.path.isEmpty ? "" : entry.path + " ") + command.name
                lines.append("            '\(entry.path):\(command.name)') path='\(path)' ;;")
            }
        }
        lines += ["        esac", "    done", "    case \"$path:$before\" in"]
        for entry in entries {
            for option in entry.options {
                guard let type = option.type else { continue }
                let names = ["--" + option.name] + (option.short.map { ["-\($0)"] } ?? [])
                let pattern = names.map { "'\(entry.path):\($0)'" }.joined(separator: " | ")
                lines.append("        \(pattern)) \(reply(CompletionKind(type))); return ;;")
            }
        }
        lines += ["    esac", "    case \"$path\" in"]
        for entry in entries {
            let options = entry.options.map { "--" + $0.name }.joined(separator: " ")
            let words = entry.subcommands.map(\.name).joined(separator: " ")
            lines.append("        '\(entry.path)')")
            lines.append("            if [[ \"$word\" == -* ]]; then \(reply(.words([options])))")
            lines.append(
                "            else \(reply(entry.isGroup ? .words([words]) : entry.argumentKind)); fi ;;")
        }
        lines += ["    esac", "}", "complete -o filenames -F \(function) \(program)", ""]
        return lines.joined(separator: "\n")
    }

    private static func reply(_ kind: CompletionKind) -> String {
        switch kind {
        case .files: "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
        case .folders: "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")"
        case .nothing: "COMPREPLY=()"
        case .words(let words):
            "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$word\")"
        }
    }
}
