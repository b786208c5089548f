import TestSupport
import Testing

@testable import CommandLineKit

/// A terminal may be as narrow as half a phone's screen.
@Suite("Help on narrow terminals")
struct HelpLayoutTests {
    private static let program = Command(
        "post", "Carries letters.",
        subcommands: [
            Command(
                "send", "Send letters to whoever is to have them.",
                arguments: [
                    Argument("A-NAME-THAT-IS-LONGER-THAN-MOST", .file, count: .oneOrMore, "What is sent."),
                    Argument("TO", .text, "Whom it is sent to, by name or by number."),
                ],
                options: [
                    Option(
                        "a-name-longer-than-most", named: "VALUE", .text,
                        "What is said of it takes more than one line of such a terminal."),
                    Option.flag("quick", short: "q", "Run as fast as possible, whatever may be in the way."),
                    Option("to", named: "X", .text, default: "nobody", "Also to this one."),
                ],
                examples: [Example("post send letter.txt --to somebody --quick Bob", "One letter, and soon.")]
            ) { _ in },
            Command("a-command-with-a-very-long-name-indeed", "Does what its name says, and more.") { _ in },
        ])

    @Test("only examples exceed the width", arguments: 40...48)
    func width(columns: Int) {
        for path in [[Self.program]] + Self.program.subcommands.map({ [Self.program, $0] }) {
            for line in Help.text(for: path, width: columns).split(separator: "\n") {
                #expect(
                    line.count <= columns || line.hasPrefix("  $ ") || !line.drop { $0 == " " }.contains(" "))
            }
        }
    }

    @Test("texts keep half of the width", arguments: [40, 50, 60, 80, 132])
    func columns(width: Int) {
        let text = Help.text(for: [Self.program, Self.program.subcommands[0]], width: width)
        // After "Options:", continuation lines align with their text.
        let lines = text.split(separator: "\n").drop { $0 != "Options:" }.dropFirst().prefix {
            $0 != "Examples:"
        }
        for line in lines where line.hasPrefix("       ") && !line.contains("--") {
            let start = line.prefix { $0 == " " }.count
            #expect(start <= max(width / 2, 8) && start <= 32, "\(line)")
        }
        #expect(lines.count > 6)
    }

    @Test("long names put their text below")
    func below() {
        let text = Help.text(for: [Self.program, Self.program.subcommands[0]], width: 40)
        #expect(
            text.contains(
                """
                      --a-name-longer-than-most VALUE
                                    What is said of it
                                    takes more than one
                                    line of such a
                                    terminal.
                  -q, --quick       Run as fast as
                                    possible, whatever
                                    may be in the way.
                      --to X        Also to this one.
                                    Default: nobody.
                """), "\(text)")
        let list = Help.text(for: [Self.program], width: 40)
        #expect(list.contains("  send              Send letters to\n"), "\(list)")
        #expect(list.contains("  a-command-with-a-very-long-name-indeed\n"), "\(list)")
    }

    @Test func configurableFlagShowsHowItIsTurnedOff() {
        let flag = Option.flag("dry", "Send nothing.").configurable
        let program = Command("post", "Carries letters.", options: [flag]) { _ in }
        let text = Help.text(for: [program], width: 100)
        #expect(text.contains("Usage: post [--dry[=false]]\n"), "\(text)")
        #expect(
            text.contains(
                "      --dry[=false]  Send nothing. With =false off, even if the configuration sets it.\n"),
            "\(text)")
        let page = ManualPage.text(of: program, in: program, version: "1")
        #expect(page.contains(".TP\n\\fB\\-\\-dry\\fR[=\\fIfalse\\fR]\n"), "\(page)")
    }

    @Test("no word is lost at any width")
    func words() {
        func words(_ text: String) -> [Substring] { text.split { $0 == " " || $0 == "\n" } }
        for path in [[Self.program], [Self.program, Self.program.subcommands[0]]] {
            let wide = words(Help.text(for: path, width: 1000))
            for width in [40, 41, 59, 80, 200] { #expect(words(Help.text(for: path, width: width)) == wide) }
        }
    }
}
