import TestSupport
import Testing

@testable import CommandLineKit

/// Runs the scripts in the installed shells; bash is always installed.
@Suite("Shell completions")
struct CompletionTests {
    /// A program with every kind of value, and optional and repeated arguments.
    static let program = Command(
        "post", "Carries letters.",
        subcommands: [
            Command(
                "send", "Send letters.",
                arguments: [
                    Argument("LETTER", .file, "What to send."),
                    Argument("PERSON", .listed("people"), count: .oneOrMore, "Who gets it."),
                ],
                options: [
                    Option.flag("quick", short: "q", "Run."),
                    Option.flag("dry", "Send nothing.").configurable,
                    Option("seal", short: "s", named: "KIND", .choice(["wax", "tape"]), "How it is closed."),
                    Option("wait", named: "TIME", .duration, "How long."),
                    Option("to", named: "PERSON", .listed("people"), "Who gets it too."),
                    Option("bill", named: "FILE", .file, "Where the bill goes."),
                ]
            ) { _ in },
            Command(
                "box", "The letter box.",
                subcommands: [
                    Command("open", "Open it.", arguments: [Argument("FOLDER", .folder, "Where.")]) { _ in },
                    Command("close", "Close it.") { _ in },
                ]),
            Command(
                "greet", "Greet people.",
                arguments: [
                    Argument(optional: "HOW", .choice(["loud", "softly"]), "In which way."),
                    Argument("PERSON", .listed("people"), "Whom."),
                ]
            ) { _ in },
            Command(
                "hand", "Hand a letter over.",
                arguments: [
                    Argument(optional: "LETTER", .file, "Which one."),
                    Argument("PERSON", .listed("people"), "To whom."),
                ]
            ) { _ in },
            Command(
                "lamp", "The lamp at the door.",
                subcommands: [
                    Command(
                        "light", "Light it.", arguments: [Argument("PERSON", .listed("people"), "Who does.")],
                        options: [Option("with", named: "WHAT", .choice(["match", "spark"]), "By what.")]
                    ) { _ in },
                    Command("dim", "Dim it.") { _ in },
                ], unnamed: "light"),
        ])

    static let people = [
        "Bob", "Barbara $(x)", "Carol", "Dan: work", "Dan: home", "O'Neil", "say \"hi\"", "-dash",
    ]

    /// A folder with files, folders and a program `post`, which lists people and prints its arguments.
    static func folder(people: [String] = people) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["letter one", "letter two", "b:c"] { try folder.write([1], to: name) }
        for name in ["attic", "send", "Carol"] { _ = try folder.makeFolder(name) }
        let names = people.map { $0.replacing("'", with: "'\\''") }.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            #!/bin/sh
            if [ "$1" = complete ]; then printf '%s\\n' \(names); exit; fi
            printf 'given'; for word in "$@"; do printf '<%s>' "$word"; done; echo .

            """
        try folder.write(Array(script.utf8), to: "post")
        return folder
    }

    /// Lines up to the cursor after `post `, and the candidates.
    static let places: [(line: String, offered: [String])] = [
        ("", ["box", "greet", "hand", "lamp", "send"]),
        ("s", ["send"]),
        ("unknown ", []),
        ("box ", ["close", "open"]),
        ("box open ", ["Carol", "attic", "send"]),
        ("box open attic ", []),
        ("box close ", []),
        ("box box", []),
        ("send let", ["letter one", "letter two"]),
        // The second and all later arguments; a name is never taken for a command.
        ("send 'letter one' B", ["Barbara $(x)", "Bob"]),
        ("send 'letter one' Bob C", ["Carol"]),
        ("send send C", ["Carol"]),
        // Options and their values do not count as arguments.
        ("send -q --wait 1s 'letter one' C", ["Carol"]),
        ("send --wait=1s --seal=wax 'letter one' C", ["Carol"]),
        ("send --to -q let", ["letter one", "letter two"]),
        ("send --seal ", ["tape", "wax"]),
        ("send -s w", ["wax"]),
        ("send --seal=", ["tape", "wax"]),
        ("send --seal=w", ["wax"]),
        // A flag takes its value after = only.
        ("send --dry=", ["false", "true"]),
        ("send --dry=f", ["false"]),
        ("send --dry let", ["letter one", "letter two"]),
        ("send --wait ", []),
        ("send --wait=", []),
        ("send --to Ca", ["Carol"]),
        ("send --bill let", ["letter one", "letter two"]),
        ("send --se", ["--seal"]),
        ("send 'letter one' --q", ["--quick", "--quiet"]),
        // After -- nothing is an option.
        ("send -- --q", []),
        ("send -- -x -d", ["-dash"]),
        ("send -- --seal C", ["Carol"]),
        // An optional argument may be skipped.
        ("greet ", ["-dash"] + people.dropLast() + ["loud", "softly"]),
        ("greet l", ["loud"]),
        ("greet loud C", ["Carol"]),
        ("greet loud Carol ", []),
        // Without a subcommand, the options of the unnamed one.
        ("lamp ", ["dim", "light"]),
        ("lamp --wi", ["--with"]),
        ("lamp --with ", ["match", "spark"]),
        ("lamp --with match C", ["Carol"]),
        ("lamp -q ", ["dim", "light"]),
    ]

    @Test("bash completes words")
    func bash() async throws {
        // Quoted and escaped text is one word, which is quoted again.
        let quoted: [(line: String, offered: [String])] = [
            ("send x Barbara\\ ", ["Barbara\\ \\$\\(x\\)"]),
            ("send x 'Barbara $", ["Barbara $(x)"]),
            ("send x \"Barbara ", ["Barbara \\$(x)"]),
            ("send x \"say \\\"", ["say \\\"hi\\\""]),
            ("send x O\\'", ["O\\'Neil"]),
            ("send x \"O'", ["O'Neil"]),
            ("send x 'O", ["O'\\''Neil"]),
            ("send x Dan\\:", ["Dan:\\ home", "Dan:\\ work"]),
            ("send x 'Dan: ", ["Dan: home", "Dan: work"]),
            // Readline starts a new word after a colon.
            ("send x Dan:", ["\\ home", "\\ work"]),
            ("send b:", ["c"]),
            ("send letter\\ ", ["letter\\ one", "letter\\ two"]),
            ("send 'letter ", ["letter one", "letter two"]),
            ("send --to=Barb", ["Barbara\\ \\$\\(x\\)"]),
            ("send x $(touch gone)", []),
        ]
        let places = Self.places.map { ($0.line, $0.offered.map(Self.bashQuoted)) }
        try await compare(places + quoted, in: "bash")
    }

    /// Quotes these names like `printf %q`.
    private static func bashQuoted(_ name: String) -> String {
        name.map { " $()'\"".contains($0) ? "\\\($0)" : "\($0)" }.joined()
    }

    @Test("fish completes words if installed")
    func fish() async throws { try await compare(Self.places, in: "fish") }

    /// Asks the shell at each position.
    private func compare(_ places: [(line: String, offered: [String])], in shell: String) async throws {
        guard let tool = try? Shell.find(shell), let kind = Completion(rawValue: shell) else {
            print("\(shell) is not installed")
            return
        }
        let (folder, home) = (try Self.folder(), try TemporaryFolder())
        try folder.write(Array(kind.script(for: Self.program).utf8), to: "script")
        let run = """
            chmod +x post; PATH="$PWD:$PATH"; . ./script
            COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
            for line in "$@"; do
                COMP_WORDS=(post) COMP_LINE="post $line" COMP_POINT=$((${#line} + 5)); _post
                [ "${#COMPREPLY[@]}" = 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
                echo =
            done
            """
        let fish = """
            chmod +x post; set -x PATH $PWD $PATH; source ./script
            for line in $argv
                complete -C "post $line"
                echo =
            end
            """
        let lines = places.map(\.line)
        let outcome = try await Shell.run(
            tool,
            shell == "bash"
                ? ["--norc", "-c", run, "bash"] + lines : ["--no-config", "-c", fish, "--"] + lines,
            folder: folder.path,
            environment: ["HOME": home.path, "XDG_CONFIG_HOME": home.path, "LC_ALL": "C.UTF-8"])
        #expect(outcome.succeeded && outcome.errors == "", "\(outcome.errors)")
        var found: [[String]] = [[]]
        for line in outcome.output.split(separator: "\n") {
            if line == "=" {
                found.append([])
            } else {
                // fish: a tab and a description follow.
                found[found.count - 1].append(String(line.prefix { $0 != "\t" }))
            }
        }
        for (place, offered) in zip(places, found) {
            // Both mark folders; fish repeats the text before the value.
            let plain = offered.map { Self.plain($0, isFish: shell == "fish") }
            #expect(plain.sorted() == place.offered.sorted(), "\(shell) after '\(place.line)'")
        }
        #expect(found.count == places.count + 1)
        #expect(try !folder.names().contains("gone"))
    }

    private static func plain(_ offered: String, isFish: Bool) -> String {
        var text = Substring(offered)
        if isFish, text.hasPrefix("--"), let equals = text.firstIndex(of: "=") {
            text = text[text.index(after: equals)...]
        }
        if text.hasSuffix("/") { text = text.dropLast() }
        return String(text)
    }

    @Test("bash quotes names at a terminal")
    func terminal() async throws {
        // Bash executes a subscript wherever it expands a name, and !! in double quotes is the last command.
        let hostile = "Eve${BASH_VERSINFO[$(touch gone)]}"
        let folder = try Self.folder(people: Self.people + [hostile, "Yo!!x"])
        let place = "it's${BASH_VERSINFO[$(touch gone)]}"
        _ = try folder.makeFolder(place)
        try folder.write([1], to: place + "/file")
        try folder.write(Array(Completion.bash.script(for: Self.program).utf8), to: "script")
        let lines: [(typed: String, given: String)] = [
            ("post se\tletter\\ o\tBarb\t", "<send><letter one><Barbara $(x)>"),
            ("post send x 'Barb\t", "<send><x><Barbara $(x)>"),
            ("post send x Dan: h\t", "<send><x><Dan:><h>"),
            ("post send x Dan\\: h\t", "<send><x><Dan:><h>"),
            ("post send x Dan:\\ h\t", "<send><x><Dan: home>"),
            ("post send x 'Dan: h\t", "<send><x><Dan: home>"),
            ("post send x O\\'\t", "<send><x><O'Neil>"),
            ("post send x Caro\t", "<send><x><Carol>"),
            ("post send --seal=w\t", "<send><--seal=wax>"),
            ("post box open att\t", "<box><open><attic/>"),
            ("post box open ~/att\t", "<box><open><\(folder.path)/attic/>"),
            ("post send x Eve\t", "<send><x><\(hostile)>"), ("post send x 'Eve\t", "<send><x><\(hostile)>"),
            ("post send x \"Eve\t", "<send><x><\(hostile)>"), ("post hand Eve\t", "<hand><\(hostile)>"),
            ("post hand \"Eve\t", "<hand><\(hostile)>"), ("post send x \"Yo\t", "<send><x><Yo!!x>"),
            ("post box open it\t", "<box><open><\(place)/>"),
            (
                #"post send it\'s\$\{BASH_VERSINFO\[\$\(touch\ gone\)\]\}/fi"# + "\t",
                "<send><\(place)/file>"
            ),
        ]
        try folder.write(
            Array(
                """
                cd '\(folder.path)'; chmod +x post; PATH="$PWD:$PATH"; . ./script; PS1='ready$ '
                bind 'set enable-bracketed-paste off'

                """.utf8), to: "begin")
        var steps: [ScriptedTerminal.Step] = [.wait("ready$ ")]
        for line in lines { steps += [.type(line.typed + "\n"), .wait("given" + line.given + ".")] }
        steps.append(.type("exit\n"))
        let outcome = try await ScriptedTerminal.run(
            Shell.find("bash"), ["--noprofile", "--rcfile", folder.path("begin"), "-i"],
            environment: [
                "HOME": folder.path, "LC_ALL": "C.UTF-8", "TERM": "dumb", "INPUTRC": "/dev/null",
                "HISTFILE": "/dev/null",
            ], steps)
        #expect(outcome.ending == .code(0))
        #expect(try !folder.names().contains("gone") && !folder.names(in: place).contains("gone"))
    }

    @Test("installed shells accept their scripts", arguments: Completion.allCases)
    func syntax(shell: Completion) async throws {
        let folder = try TemporaryFolder()
        try folder.write(Array(shell.script(for: Self.program).utf8), to: "script")
        guard let program = try? Shell.find("\(shell)") else {
            print("\(shell) is not installed")
            return
        }
        let outcome = try await Shell.run(program, ["-n", folder.path("script")])
        #expect(outcome.succeeded, "\(outcome.errors)")
    }

    @Test("bash and zsh find the same candidates")
    func alike() {
        let entries = CompletionEntry.all(of: Self.program)
        let (bash, zsh) = (
            Completion.bash.script(for: Self.program), Completion.zsh.script(for: Self.program)
        )
        #expect(
            entries.commands.map(\.path) == [
                "send", "box", "greet", "hand", "lamp", "box open", "box close", "lamp light", "lamp dim",
            ])
        for command in entries.commands {
            #expect(bash.contains("\(command.pattern)) path='\(command.path)' count=0 ;;"))
            #expect(zsh.contains("\(command.pattern)) path_='\(command.path)' count=0 ;;"))
        }
        #expect(
            entries.valueOptionPatterns(separator: "|").contains { $0.hasPrefix("'send:--seal'|'send:-s'|") })
        #expect(bash.contains("'send:--seal' | 'send:-s') _post_words wax tape ;;"))
        #expect(zsh.contains("'send:--seal'|'send:-s') compadd -- wax tape ;;"))
        #expect(zsh.contains("                0) _files ;;\n                *) found=("))
    }

    @Test("each position offers its arguments")
    func places() {
        func places(_ counts: [ArgumentCount]) -> (first: [[String]], rest: [String]) {
            let arguments = counts.enumerated().map { Argument("\($0)", .listed("\($0)"), count: $1, "") }
            let entry = CompletionEntry.all(of: Command("a", "", arguments: arguments) { _ in })[0]
            func names(_ kinds: [CompletionKind]) -> [String] {
                kinds.compactMap { if case .listed(let name) = $0 { name } else { nil } }
            }
            return (entry.places.first.map(names), names(entry.places.rest))
        }
        for (counts, first, rest) in [
            ([], [], []),
            ([.one], [["0"]], []),
            ([.one, .one], [["0"], ["1"]], []),
            ([.optional], [["0"]], []),
            ([.optional, .one], [["0", "1"], ["1"]], []),
            ([.any], [], ["0"]),
            ([.oneOrMore, .one], [["0"]], ["0", "1"]),
            ([.one, .oneOrMore], [["0"]], ["1"]),
            ([.any, .one], [], ["0", "1"]),
        ] as [([ArgumentCount], [[String]], [String])] {
            let found = places(counts)
            // A leading position may equal the later ones.
            var wanted = first
            while wanted.count < found.first.count { wanted.append(rest) }
            #expect(found.first == wanted && found.rest == rest, "\(counts)")
        }
    }
}
