/// The script for zsh: finds the command among the words, then describes what may follow.
enum ZshCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "_" + program.replacing("-", with: "_")
        var lines = [
            "#compdef \(program)", "\(function)() {", "    local path_='' i count=0", "    local -a found",
            "    for ((i = 2; i < CURRENT; i++)); do", "        case \"$path_:${words[i]}\" in",
        ]
        for entry in entries {
            for command in entry.subcommands {
                let path = (entry.path.isEmpty ? "" : entry.path + " ") + command.name
                lines.append("            '\(entry.path):\(command.name)') path_='\(path)' count=0 ;;")
            }
        }
        for entry in entries where !entry.valueOptions.isEmpty {
            let patterns = entry.valueOptions.map { "'\(entry.path):\($0)'" }.joined(separator: "|")
            lines.append("            \(patterns)) ((i++)) ;;")
        }
        lines += ["            *:-*) ;;", "            *) ((count++)) ;;"]
        lines += ["        esac", "    done", "    case \"$path_:${words[CURRENT-1]}\" in"]
        for entry in entries {
            for option in entry.options {
                guard let type = option.type else { continue }
                let names = ["--" + option.name] + (option.short.map { ["-\($0)"] } ?? [])
                let pattern = names.map { "'\(entry.path):\($0)'" }.joined(separator: "|")
                lines.append("        \(pattern)) \(reply(CompletionKind(type))); return ;;")
            }
        }
        lines += ["    esac", "    case \"$path_\" in"]
        for entry in entries {
            let options = entry.options.map { quoted("--" + $0.name, $0.help) }
            let commands = entry.subcommands.map { quoted($0.name, $0.abstract) }
            lines.append("        '\(entry.path)')")
            lines.append("            if [[ \"${words[CURRENT]}\" == -* ]]; then")
            lines.append(
                "                found=(\(options.joined(separator: " "))); _describe option found -o")
            if entry.isGroup {
                lines.append("            else")
                lines.append(
                    "                found=(\(commands.joined(separator: " "))); _describe command found")
            } else {
                lines.append("            else case $count in")
                for (index, kind) in entry.argumentKinds.enumerated() {
                    let place = index == entry.argumentKinds.count - 1 ? "*" : "\(index)"
                    lines.append("                \(place)) \(reply(kind)) ;;")
                }
                lines.append("                esac")
            }
            lines.append("            fi ;;")
        }
        lines += [
            "    esac", "}", "if [[ \"$funcstack[1]\" == \(function) ]]; then \(function) \"$@\"",
            "else compdef \(function) \(program); fi", "",
        ]
        return lines.joined(separator: "\n")
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
