import Testing

@testable import Base
@testable import CommandLineKit

@Suite("Help")
struct HelpTests {
    @Test("the program's help lists commands by section")
    func program() {
        #expect(
            Help.text(for: [Sample.program], width: 80) == """
                Carries letters.

                Usage: post COMMAND …

                Letters are carried by hand.

                At night too.

                Letters:
                  send  Send letters.

                Places:
                  box   The letter box.

                Options:
                  -q, --quiet    Say nothing but results and errors.
                  -v, --verbose  Say more, of errors their causes too; twice for everything.
                  -h, --help     Show this help.
                      --version  Show the version.

                'post COMMAND --help' explains a command.
                """)
    }

    @Test("a command's help fits the width")
    func command() {
        #expect(
            Help.text(for: [Sample.program, Sample.program.subcommands[0]], width: 60) == """
                Send letters.

                Usage: post send LETTER… PERSON [--quick] [--verbose]
                       [--relay ADDR]… [--wait TIME] [--copies N]
                       [--seal KIND] [--limit SIZE]

                Arguments:
                  LETTER…  What to send.
                  PERSON   Who gets it.

                Options:
                  -q, --quick       Run.
                  -v, --verbose     Tell more.
                  -r, --relay ADDR  Carry it through this relay. May be
                                    repeated.
                      --wait TIME   How long to wait before going. Default:
                                    1s.
                      --copies N    How many copies to send. Default: 1.
                  -s, --seal KIND   How it is closed. One of: wax, tape.
                      --limit SIZE  The largest letter.
                      --quiet       Say nothing but results and errors.
                  -h, --help        Show this help.

                Examples:
                  $ post send a.txt Bob
                      Send a letter to Bob.
                """)
    }

    @Test("no line exceeds the width", arguments: [40, 57, 80, 132])
    func width(columns: Int) {
        for path in [[Sample.program], [Sample.program, Sample.program.subcommands[0]]] {
            let lines = Help.text(for: path, width: columns).split(separator: "\n")
            #expect(lines.allSatisfy { $0.count <= columns })
        }
    }

    @Test("the manual page escapes roff")
    func manual() {
        let page = ManualPage.text(for: Sample.program, version: "1.2")
        #expect(page.hasPrefix(".TH POST 1 \"\" \"post 1.2\"\n.SH NAME\npost \\- Carries letters.\n"))
        #expect(page.contains("\n.SS post box open [FOLDER]\n.PP\nOpen it.\n.TP\n.I FOLDER\n"))
        #expect(page.contains("\n\\fB\\-s\\fR, \\fB\\-\\-seal\\fR \\fIKIND\\fR\nHow it is closed."))
        #expect(page.contains(".SH EXIT STATUS\n.TP\n.B 0\nDone.\n"))
        #expect(!page.contains(".SH FILES") && !page.contains(".SH ENVIRONMENT"))
        #expect(ManualPage.escaped(".it's a \\") == "\\&.it's a \\e")
    }

    @Test func everyCommandHasItsOwnPage() {
        let overview = ManualPage.overview(of: Sample.program, version: "1.2")
        #expect(overview.hasPrefix(".TH POST 1 ") && !overview.contains(".SS "))
        #expect(overview.contains("\n.TP\n.BR post\\-box (1)\n"))
        let box = Sample.program.subcommands.first { $0.name == "box" }!
        let page = ManualPage.text(of: box, in: Sample.program, version: "1.2")
        #expect(page.hasPrefix(".TH POST\\-BOX 1 \"\" \"post 1.2\"\n.SH NAME\npost\\-box \\- "))
        #expect(page.contains("\n.SS post box open [FOLDER]\n.PP\nOpen it.\n.TP\n.I FOLDER\n"))
        #expect(page.hasSuffix("\n.SH SEE ALSO\n.BR post (1)\n"))
    }

    @Test("the manual lists files and variables")
    func manualTables() {
        let page = ManualPage.text(
            for: Sample.program, version: "1", files: [("~/box", "Letters.")],
            environment: [("POST_LOG", "What is logged.")])
        #expect(
            page.hasSuffix(
                ".SH ENVIRONMENT\n.TP\n.B POST_LOG\nWhat is logged.\n.SH FILES\n.TP\n.B ~/box\nLetters.\n"))
        #expect(page.contains("\n.B 128+N\n"))
    }

    @Test("a hidden command is explained but not listed")
    func hidden() throws {
        let program = Command(
            "a", "Does.",
            subcommands: [
                Command("b", "Shown.") { _ in }, Command("secret", "Not.", isHidden: true) { _ in },
            ])
        #expect(!Help.text(for: [program], width: 80).contains("secret"))
        #expect(!ManualPage.text(for: program, version: "1").contains("secret"))
        for shell in Completion.allCases { #expect(!shell.script(for: program).contains("secret")) }
        guard case .run(let invocation) = try Parser.parse(["secret"], of: program) else {
            Issue.record("it is not understood")
            return
        }
        #expect(invocation.command.name == "secret")
    }

    @Test("the fish script depends on the position")
    func fish() {
        let script = Completion.fish.script(for: Sample.program)
        #expect(script.contains("            case 'box:open'\n                set place 'box open'\n"))
        #expect(script.contains("complete -c post -n \"__post_at '' 0 0\" -a send -d 'Send letters.'\n"))
        let seal =
            "complete -c post -n \"__post_at 'send'\" -s s -l seal -x -a 'wax tape' -d 'How it is closed.'\n"
        #expect(script.contains(seal))
        #expect(script.contains("complete -c post -n \"__post_at 'send' 0 0\" -F\n"))
    }

    @Test("the zsh script describes options before --")
    func zsh() {
        let script = Completion.zsh.script(for: Sample.program)
        #expect(script.contains("'--seal:How it is closed.'"))
        #expect(script.contains("; _describe -o option found\n"))
        #expect(script.contains("            if [[ -z \"$ended\" && \"${words[CURRENT]}\" == -* ]]; then\n"))
        #expect(script.contains("'send:--wait'|"))
    }

    @Test("quotes do not end shell strings")
    func quotes() {
        let program = Command("a", "It's.", subcommands: [Command("b", "Don't: stop.") { _ in }])
        #expect(Completion.zsh.script(for: program).contains("'b:Don'\\''t\\: stop.'"))
        #expect(Completion.fish.script(for: program).contains("-d 'Don\\'t: stop.'"))
    }

    @Test(
        "only similar words are suggested",
        arguments: [
            ("mout", "mount"), ("muont", "mount"), ("unmout", "unmount"), ("stat", "status"), ("xyz", nil),
            ("m", nil),
        ])
    func suggestions(word: String, nearest: String?) {
        #expect(NearestWord.nearest(to: word, among: ["mount", "unmount", "status", "demo"]) == nearest)
    }

    @Test("choices named in the help are not repeated")
    func choices() {
        let words = ["never", "first-time", "always"]
        let named = Option(
            "seal", named: "WHEN", .choice(words),
            "When it is sealed: never, first-time (the default), always.")
        let unnamed = Option("seal", named: "WHEN", .choice(words), "When it is sealed, never by hand.")
        #expect(!Help.text(of: named).contains("One of"))
        #expect(Help.text(of: unnamed).hasSuffix("One of: never, first-time, always."))
    }
}
