import TestSupport
import Testing

@testable import CommandLineKit

/// The scripts, run by the shells that read them where these are installed; bash is everywhere.
@Suite("The tab key offers what may follow")
struct CompletionTests {
    /// A program with every kind of value.
    private static let program = Command(
        "post", "Carries letters.",
        subcommands: [
            Command(
                "send", "Send letters.",
                arguments: [
                    Argument("LETTER", .file, "What to send."),
                    Argument("PERSON", .listed("people"), count: .oneOrMore, "Who gets it."),
                ],
                options: [
                    .flag("quick", short: "q", "Run."),
                    .value("seal", short: "s", named: "KIND", .choice(["wax", "tape"]), "How it is closed."),
                    .value("wait", named: "TIME", .duration, "How long."),
                ]
            ) { _ in },
            Command(
                "box", "The letter box.",
                subcommands: [
                    Command("open", "Open it.", arguments: [Argument("FOLDER", .folder, "Where.")]) { _ in },
                    Command("close", "Close it.") { _ in },
                ]),
        ])

    /// A folder with two files, a folder and a program `post` that knows three people.
    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["letter one", "letter two"] { try folder.write([1], to: name) }
        _ = try folder.makeFolder("attic")
        try folder.write(
            Array("#!/bin/sh\nprintf 'Bob\\nBarbara $(x)\\nCarol\\n'\n".utf8), to: "post")
        return folder
    }

    static let places: [(line: [String], offered: [String])] = [
        ([""], ["box", "send"]),
        (["s"], ["send"]),
        (["box", ""], ["close", "open"]),
        (["box", "open", ""], ["attic"]),
        (["box", "close", ""], []),
        (["send", "let"], ["letter one", "letter two"]),
        // The second argument, and every one after it; a name is never taken for a command.
        (["send", "letter one", "B"], ["Barbara $(x)", "Bob"]),
        (["send", "letter one", "Bob", "C"], ["Carol"]),
        // Options do not count as arguments, nor do their values.
        (["send", "-q", "--wait", "1s", "letter one", "C"], ["Carol"]),
        (["send", "--seal", ""], ["tape", "wax"]),
        (["send", "-s", "w"], ["wax"]),
        (["send", "--wait", ""], []),
        (["send", "--se"], ["--seal"]),
        (["send", "letter one", "--q"], ["--quick", "--quiet"]),
    ]

    @Test("in bash", arguments: places)
    func bash(line: [String], offered: [String]) async throws {
        let folder = try Self.folder()
        try folder.write(Array(Completion.bash.script(for: Self.program).utf8), to: "script")
        let run = """
            chmod +x post; PATH="$PWD:$PATH"; . ./script
            COMP_WORDS=(post "$@"); COMP_CWORD=$#; _post
            [ "${#COMPREPLY[@]}" = 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
            """
        let outcome = try await Shell.run(
            "bash", ["--norc", "-c", run, "bash"] + line, folder: folder.path)
        #expect(outcome.succeeded && outcome.errors == "", "\(outcome.errors)")
        let found = outcome.output.split(separator: "\n").map(String.init).sorted()
        #expect(found == offered, "after \(line)")
    }

    @Test("the shells that are here take the scripts for scripts", arguments: Completion.allCases)
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

    @Test("bash and zsh find the same commands, options and values")
    func alike() {
        let entries = CompletionEntry.all(of: Self.program)
        let (bash, zsh) = (
            Completion.bash.script(for: Self.program), Completion.zsh.script(for: Self.program)
        )
        #expect(entries.commands.map(\.path) == ["send", "box", "box open", "box close"])
        for command in entries.commands {
            #expect(bash.contains("\(command.pattern)) path='\(command.path)' count=0 ;;"))
            #expect(zsh.contains("\(command.pattern)) path_='\(command.path)' count=0 ;;"))
        }
        #expect(entries.valueOptionPatterns(separator: "|").contains("'send:--seal'|'send:-s'|'send:--wait'"))
        #expect(bash.contains("'send:--seal' | 'send:-s') mapfile -t COMPREPLY < <(compgen -W 'wax tape'"))
        #expect(zsh.contains("'send:--seal'|'send:-s') compadd -- wax tape; return ;;"))
        #expect(zsh.contains("                0) _files ;;\n                *) found=("))
    }
}
