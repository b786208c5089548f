import Testing

@testable import CommandLineKit

@Suite("Common options and unnamed commands")
struct CommonOptionsTests {
    private static let program = Command(
        "post", "Carries letters.",
        subcommands: [
            Command("send", "Send.", options: [Option.flag("quick", short: "k", "Run.")]) { _ in },
            Command(
                "relay", "A relay.",
                subcommands: [
                    Command(
                        "run", "Run one.",
                        arguments: [Argument(optional: "PLACE", .text, "Where.")],
                        options: [Option("port", short: "p", named: "N", .integer(1...9), "Port.")]
                    ) { _ in },
                    Command("test", "Try one.") { _ in },
                ], unnamed: "run"),
            Command("secret", "Not for people.", isHidden: true) { _ in },
        ])

    private static func parse(_ line: String) -> String {
        do throws(Parser.Failure) {
            switch try Parser.parse(line.split(separator: " ").map(String.init), of: program) {
            case .run(let invocation): return invocation.path.joined(separator: " ")
            case .help(let path): return "help of " + path.map(\.name).joined(separator: " ")
            case .version: return "version"
            }
        } catch {
            return error.path.joined(separator: " ") + ": " + error.error.sentence
        }
    }

    @Test(
        "a flag with a value is refused",
        arguments: [
            ("send --quiet=1", "post send: --quiet takes no value"),
            ("send --verbose=", "post send: --verbose takes no value"),
            ("send --help=send", "post send: --help takes no value"),
            ("--version=2", "post: --version takes no value"),
            ("send --version=2", "post send: unknown option --version"),
            ("send --quick=1", "post send: --quick takes no value"),
        ])
    func noValues(line: String, answer: String) { #expect(Self.parse(line) == answer) }

    @Test(
        "-h works within a group of letters",
        arguments: [
            ("send -h", "help of post send"), ("send -vh", "help of post send"),
            ("send -hv", "help of post send"), ("-qh", "help of post"), ("send -kh", "help of post send"),
            ("relay -p2h", "post relay run: --port '2h': expected a whole number from 1 to 9"),
            ("send -xh", "post send: unknown option -x"),
            ("send -- -h", "post send: unexpected argument '-h'"),
        ])
    func helpLetter(line: String, answer: String) { #expect(Self.parse(line) == answer) }

    @Test(
        "a group without a command runs its default",
        arguments: [
            ("relay", "post relay run"), ("relay --port 3", "post relay run"),
            ("relay -p3", "post relay run"),
            ("relay run --port 3", "post relay run"), ("relay test", "post relay test"),
            ("-v relay -q", "post relay run"), ("relay -q test", "post relay test"),
            ("relay --help", "help of post relay"), ("relay run --help", "help of post relay run"),
            ("relay tset", "post relay: unknown command 'tset'; did you mean 'test'?"),
            ("relay --prot 3", "post relay run: unknown option --prot; did you mean '--port'?"),
            ("relay --port 3 here", "post relay run"),
            ("relay --port", "post relay run: --port needs a value (N)"),
        ])
    func unnamed(line: String, answer: String) { #expect(Self.parse(line) == answer) }

    @Test("a hidden command is neither suggested nor listed")
    func hidden() {
        #expect(Self.parse("secre") == "post: unknown command 'secre'")
        #expect(Self.parse("secret") == "post secret")
        let text = Help.text(for: [Self.program], width: 80)
        #expect(text.contains("  relay  A relay.\n"), "\(text)")
    }

    @Test("an unnamed command's options are completed")
    func completion() {
        let entries = CompletionEntry.all(of: Self.program)
        let group = entries.first { $0.path == "relay" }
        #expect(group?.options.map(\.name) == ["quiet", "verbose", "help", "port"])
        #expect(entries.first { $0.path == "" }?.options.map(\.name).last == "version")
        #expect(!entries.contains { $0.path == "secret" })
    }

    @Test(
        "long names put their text below")
    func longNames() {
        let command = Command(
            "send", "Send.",
            options: [
                Option(
                    "a-name-that-is-longer-than-most", named: "VALUE", .text, default: "the usual.", "What."),
                Option("b", named: "X", .text, default: "1", "Other."),
            ]
        ) { _ in }
        let text = Help.text(for: [Self.program, command], width: 80)
        #expect(
            text.contains(
                """
                      --a-name-that-is-longer-than-most VALUE
                                                What. Default: the usual.
                      --b X                     Other. Default: 1.
                """), "\(text)")
    }

    @Test("the manual uses full names within groups")
    func manual() {
        let page = ManualPage.text(for: Self.program, version: "1")
        #expect(page.contains("\n.SS post relay run [PLACE] [\\-\\-port N]\n"), "\(page)")
        #expect(page.contains("\n.SS post relay test\n"))
        #expect(page.contains("\n.SH OPTIONS OF EVERY COMMAND\n.TP\n\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\n"))
        #expect(page.hasSuffix("\n") && !page.hasSuffix("\n\n"))
    }
}
