/// Generates the script for zsh.
enum ZshCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "_" + program.replacing("-", with: "_")
        var lines = ["#compdef \(program)", "\(function)() {"] + search(entries)
        lines += [
            "    if ((i == CURRENT)); then option=''; fi",
            "    if [[ -z \"$ended$option\" && \"$PREFIX\" == --*=* ]]; then",
            "        option=\"$path_:${PREFIX%%=*}\"", "        compset -P 1 '*='", "    fi",
            "    if [[ -n \"$option\" ]]; then", "        case \"$option\" in",
        ]
        for option in entries.valuedOptions(separator: "|") {
            lines.append("            \(option.pattern)) \(reply(option.kind)) ;;")
        }
        lines += ["        esac", "        return", "    fi", "    case \"$path_\" in"]
        lines += entries.flatMap(possibilities)
        lines += [
            "    esac", "}", "if [[ \"$funcstack[1]\" == \(function) ]]; then \(function) \"$@\"",
            "else compdef \(function) \(program); fi", "",
        ]
        return lines.joined(separator: "\n")
    }

    /// Generates the search for the command among the words before the cursor, with a count of its arguments.
    private static func search(_ entries: [CompletionEntry]) -> [String] {
        var lines = [
            "    local path_='' option='' ended='' typed i count=0", "    local -a found",
            "    for ((i = 2; i < CURRENT; i++)); do", "        typed=\"${(Q)words[i]}\"",
            "        if [[ -z \"$ended\" && \"$typed\" == -?* ]]; then",
            "            if [[ \"$typed\" == -- ]]; then ended=1; continue; fi",
            "            case \"$path_:$typed\" in",
        ]
        for pattern in entries.valueOptionPatterns(separator: "|") {
            lines.append("                \(pattern)) option=\"$path_:$typed\"; ((i++)) ;;")
        }
        lines.append("            esac")
        for entry in entries {
            guard let unnamed = entry.unnamed else { continue }
            let own = [CompletionEntry].verbosity.map { "'\(entry.path):\($0)'" }.joined(separator: "|")
            lines.append(
                "            case \"$path_:$typed\" in \(own)) ;; '\(entry.path):'*) path_='\(unnamed)' ;; esac"
            )
        }
        lines += ["            continue", "        fi", "        case \"$path_:$typed\" in"]
        for command in entries.commands {
            lines.append("            \(command.pattern)) path_='\(command.path)' count=0 ;;")
        }
        return lines + ["            *) ((count++)) ;;", "        esac", "    done"]
    }

    /// Generates the candidates of a command: options, subcommands or arguments.
    private static func possibilities(_ entry: CompletionEntry) -> [String] {
        let options = entry.options.map { quoted("--" + $0.name, $0.help) }.joined(separator: " ")
        var lines = [
            "        '\(entry.path)')",
            "            if [[ -z \"$ended\" && \"${words[CURRENT]}\" == -* ]]; then",
            "                found=(\(options)); _describe -o option found",
        ]
        if entry.isGroup {
            let commands = entry.subcommands.map { quoted($0.name, $0.abstract) }.joined(separator: " ")
            lines += [
                "            elif ((count == 0)); then",
                "                found=(\(commands)); _describe command found",
            ]
        } else {
            lines.append("            else case $count in")
            let places = entry.places
            for (index, kinds) in places.first.enumerated() {
                lines.append("                \(index)) \(kinds.map(reply).joined(separator: "; ")) ;;")
            }
            lines.append("                *) \(places.rest.map(reply).joined(separator: "; ")) ;;")
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
            "found=(${(f)\"$(\"${words[1]}\" complete \(list) -- \"${(Q@)words[2,CURRENT-1]}\" 2>/dev/null)\"}); compadd -a found"
        case .words(let words): "compadd -- " + words.joined(separator: " ")
        }
    }

    /// Returns `'name:meaning'` for `_describe`.
    private static func quoted(_ name: String, _ meaning: String) -> String {
        "'\(name):\(meaning.replacing(":", with: "\\:").replacing("'", with: "'\\''"))'"
    }
}
