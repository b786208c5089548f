/// Generates the script for bash.
enum BashCompletion {
    static func script(program: String, entries: [CompletionEntry]) -> String {
        let function = "_" + program.replacing("-", with: "_")
        let lines =
            ["# bash completion of \(program)"] + functions(function) + search(entries, function)
            + replies(entries, function) + ["}", "complete -F \(function) \(program)", ""]
        return lines.joined(separator: "\n")
    }

    /// Generates the search for the command among the words before the cursor, with a count of its arguments.
    private static func search(_ entries: [CompletionEntry], _ function: String) -> [String] {
        var lines = [
            "\(function)() {",
            "    local typed=() kept=0 quote='' path='' count=0 i ended='' option='' head='' word",
            "    COMPREPLY=()", "    \(function)_split \"${COMP_LINE:0:COMP_POINT}\"",
            "    local last=$((${#typed[@]} - 1))", "    for ((i = 1; i < last; i++)); do",
            "        if [[ ! $ended && \"${typed[i]}\" == -?* ]]; then",
            "            if [[ \"${typed[i]}\" == -- ]]; then ended=1; continue; fi",
            "            case \"$path:${typed[i]}\" in",
        ]
        for pattern in entries.valueOptionPatterns(separator: " | ") {
            lines.append("                \(pattern)) option=\"$path:${typed[i]}\" i=$((i + 1)) ;;")
        }
        lines.append("            esac")
        for entry in entries {
            guard let unnamed = entry.unnamed else { continue }
            let own = [CompletionEntry].verbosity.map { "'\(entry.path):\($0)'" }.joined(separator: " | ")
            lines.append(
                "            case \"$path:${typed[i]}\" in \(own)) ;; '\(entry.path):'*) path='\(unnamed)' ;; esac"
            )
        }
        lines += ["            continue", "        fi", "        case \"$path:${typed[i]}\" in"]
        for command in entries.commands {
            lines.append("            \(command.pattern)) path='\(command.path)' count=0 ;;")
        }
        return lines + ["            *) count=$((count + 1)) ;;", "        esac", "    done"]
    }

    /// Generates the candidates at the cursor: values, options, subcommands or arguments.
    private static func replies(_ entries: [CompletionEntry], _ function: String) -> [String] {
        var lines = [
            "    word=\"${typed[last]}\"", "    if ((i == last)); then option=''; fi",
            "    if [[ ! $ended && ! $option && \"$word\" == --*=* ]]; then",
            "        head=\"${word%%=*}=\" option=\"$path:${word%%=*}\" word=\"${word#*=}\"", "    fi",
            "    if [[ $option ]]; then", "        case \"$option\" in",
        ]
        for option in entries.valuedOptions(separator: " | ") where option.kind != .nothing {
            lines.append("            \(option.pattern)) \(reply([option.kind], function)) ;;")
        }
        lines += [
            "        esac", "    elif [[ ! $ended && \"$word\" == -* ]]; then", "        case \"$path\" in",
        ]
        for entry in entries {
            let options = entry.options.map { "--" + $0.name }
            lines.append("            '\(entry.path)') \(reply([.words(options)], function)) ;;")
        }
        lines += ["        esac", "    else", "        case \"$path:$count\" in"]
        for entry in entries {
            let words = CompletionKind.words(entry.subcommands.map(\.name))
            let places = entry.isGroup ? (first: [[words]], rest: [.nothing]) : entry.places
            for (index, kinds) in places.first.enumerated() {
                lines.append("            '\(entry.path):\(index)') \(reply(kinds, function)) ;;")
            }
            lines.append("            '\(entry.path):'*) \(reply(places.rest, function)) ;;")
        }
        return lines + ["        esac", "    fi"]
    }

    /// Generates helpers. Names come from other people, so the helpers compare and quote them but never expand them, as
    /// `compgen -W` would.
    private static func functions(_ function: String) -> [String] {
        let text = #"""
            # The words of a line, as the shell takes them, but nothing is expanded. Of the last one: the quote that is
            # open, and how much of it stays when readline puts something in its place.
            NAME_split() {
                local line="$1" c word='' begun='' open=0 i
                for ((i = 0; i < ${#line}; i++)); do
                    c="${line:i:1}"
                    if [[ "$quote" == "'" ]]; then
                        if [[ "$c" == "'" ]]; then quote=''; else word+="$c"; fi
                    elif [[ "$c" == "\\" ]]; then
                        i=$((i + 1)) c="${line:i:1}" begun=1
                        if [[ "$quote" && "$c" != [\"\\\$\`] ]]; then word+="\\"; fi
                        word+="$c"
                    elif [[ "$quote" ]]; then
                        if [[ "$c" == "$quote" ]]; then quote=''; else word+="$c"; fi
                    elif [[ "$c" == [\"\'] ]]; then
                        quote="$c" begun=1 open=${#word}
                    elif [[ "$c" == [[:space:]] ]]; then
                        if [[ $begun ]]; then typed+=("$word"); fi
                        word='' begun='' kept=0
                    else
                        word+="$c" begun=1
                        if [[ "$COMP_WORDBREAKS" == *"$c"* ]]; then kept=${#word}; fi
                    fi
                done
                typed+=("$word")
                if [[ "$quote" ]]; then kept=$open; fi
            }
            # Offers the lines that begin with the word, as they have to be typed. $1: not empty for names of files.
            NAME_offer() {
                local line tilde
                while IFS= read -r line; do
                    [[ "$line" && "$line" == "$word"* ]] || continue
                    line="$head$line"
                    line="${line:kept}"
                    tilde=''
                    if [[ "$quote" == "'" ]]; then
                        line="${line//"'"/"'\\''"}"
                    elif [[ "$quote" ]]; then
                        line="${line//"\\"/"\\\\"}"
                        line="${line//'"'/'\"'}"
                        line="${line//'$'/'\$'}"
                        line="${line//'`'/'\`'}"
                        # History is expanded within these quotes.
                        line="${line//'!'/"\"'!'\""}"
                    else
                        if [[ "$1" && "$line" == "~/"* ]]; then tilde="~/" line="${line:2}"; fi
                        if [[ "$line" ]]; then printf -v line %q "$line"; fi
                    fi
                    COMPREPLY+=("$tilde$line")
                done
            }
            # Neither compgen nor `-o filenames`: readline expands what stands in names that it looks up, and runs it.
            NAME_files() {
                local place='' real entry
                if [[ "$word" == */* ]]; then place="${word%/*}/"; fi
                real="$place"
                if [[ ! $quote && "$place" == "~/"* ]]; then real="$HOME/${place:2}"; fi
                NAME_offer files < <(
                    set +f; unset GLOBIGNORE; shopt -s nullglob; shopt -u dotglob failglob nocaseglob
                    for entry in "$real${word##*/}"*; do
                        if [[ -d "$entry" ]]; then entry+=/; elif [[ $1 == -d ]]; then continue; fi
                        printf '%s\n' "$place${entry:${#real}}"
                    done
                )
                if [[ ${#COMPREPLY[@]} == 1 && "${COMPREPLY[0]}" == */ ]]; then compopt -o nospace 2>/dev/null; fi
            }
            NAME_list() { NAME_offer < <("${COMP_WORDS[0]}" complete "$1" -- "${typed[@]:1:last-1}" 2>/dev/null); }
            NAME_words() { NAME_offer < <(printf '%s\n' "$@"); }
            """#
        return text.replacing("NAME", with: function).split(separator: "\n").map(String.init)
    }

    private static func reply(_ kinds: [CompletionKind], _ function: String) -> String {
        kinds.map { reply($0, function) }.joined(separator: "; ")
    }

    private static func reply(_ kind: CompletionKind, _ function: String) -> String {
        switch kind {
        case .files: "\(function)_files -f"
        case .folders: "\(function)_files -d"
        case .nothing: ":"
        case .listed(let list): "\(function)_list '\(list)'"
        case .words(let words): "\(function)_words \(words.joined(separator: " "))"
        }
    }
}
