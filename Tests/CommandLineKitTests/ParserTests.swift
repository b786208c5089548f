import Testing

@testable import CommandLineKit

/// A program with one of each kind of option and argument.
enum Sample {
    static let letters = Argument("LETTER", .file, count: .oneOrMore, "What to send.")
    static let person = Argument("PERSON", .text, "Who gets it.")
    static let folder = Argument("FOLDER", .folder, default: ".", "Where it is.")
    static let quick = Option.flag("quick", short: "q", "Run.")
    static let verbose = Option.flag("verbose", short: "v", "Tell more.")
    static let relays = Option.list(
        "relay", short: "r", named: "ADDR", .text, "Carry it through this relay.")
    static let wait = Option(
        "wait", named: "TIME", .duration, default: .seconds(1), "How long to wait before going.")
    static let copies = Option(
        "copies", named: "N", .integer(1...9), default: 1, "How many copies to send.")
    static let seal = Option(
        "seal", short: "s", named: "KIND", .choice(["wax", "tape"]), "How it is closed.")
    static let limit = Option("limit", named: "SIZE", .byteCount, "The largest letter.")

    static let program = Command(
        "post", "Carries letters.",
        discussion: "Letters are carried\nby hand.\n\nAt night too.",
        subcommands: [
            Command(
                "send", "Send letters.", section: "Letters",
                arguments: [letters, person],
                options: [quick, verbose, relays, wait, copies, seal, limit],
                examples: [Example("post send a.txt Bob", "Send a letter to Bob.")]
            ) { _ in },
            Command(
                "box", "The letter box.", section: "Places",
                subcommands: [
                    Command("open", "Open it.", arguments: [folder]) { _ in },
                    Command("close", "Close it.") { _ in },
                ]),
        ])

    static func parse(_ line: String) throws -> Invocation {
        switch try Parser.parse(line.split(separator: " ").map(String.init), of: program) {
        case .run(let invocation): return invocation
        case .help, .version: throw UsageError("no command ran")
        }
    }

    static func complaint(_ line: String) -> String? {
        do throws(Parser.Failure) {
            _ = try Parser.parse(line.split(separator: " ").map(String.init), of: program)
            return nil
        } catch {
            return error.path.joined(separator: " ") + ": " + error.error.sentence
        }
    }
}

@Suite("The parser")
struct ParserTests {
    @Test("options may stand before or after arguments")
    func anyOrder() throws {
        for line in ["send -q a Bob", "send a -q Bob", "send a Bob -q", "send a Bob --quick"] {
            let invocation = try Sample.parse(line)
            #expect(invocation[Sample.quick])
            #expect(invocation[Sample.person] == "Bob")
            #expect(invocation[Sample.letters] == ["a"])
        }
    }

    @Test("short flags combine, the last with value")
    func clusters() throws {
        let invocation = try Sample.parse("send -qvswax a Bob")
        #expect(invocation[Sample.quick] && invocation[Sample.verbose])
        #expect(invocation[Sample.seal] == "wax")
        #expect(try Sample.parse("send -qs tape a Bob")[Sample.seal] == "tape")
    }

    @Test("=VALUE may contain = or be empty")
    func equals() throws {
        #expect(try Sample.parse("send --relay=a=b a Bob")[Sample.relays] == ["a=b"])
        #expect(try Sample.parse("send --relay= a Bob")[Sample.relays] == [""])
    }

    @Test(
        "keys may begin with a dash", arguments: ["-", "--", "--quick", "-_9a=", "-h"])
    func dashes(value: String) throws {
        #expect(try Sample.parse("send --relay \(value) a Bob")[Sample.relays] == [value])
        #expect(try Sample.parse("send -r \(value) a Bob")[Sample.relays] == [value])
        #expect(try Sample.parse("send --relay=\(value) a Bob")[Sample.relays] == [value])
    }

    @Test func falseTurnsOffFlagOfConfiguration() throws {
        let dry = Option.flag("dry", "Send nothing.").configurable
        let program = Command(
            "post", "Carries letters.",
            subcommands: [Command("send", "Send letters.", options: [dry]) { _ in }])
        func parse(_ words: String...) throws -> Invocation {
            guard case .run(let invocation) = try Parser.parse(["send"] + words, of: program) else {
                throw UsageError("no command ran")
            }
            return invocation.adding([dry.name: [""]])
        }
        #expect(try parse()[dry])
        #expect(try parse("--dry=true")[dry])
        #expect(try !parse("--dry=false")[dry])
        #expect(try !parse("--dry=false").isGiven(dry))
        // The last one counts.
        #expect(try !parse("--dry", "--dry=false")[dry])
        #expect(try parse("--dry=false", "--dry")[dry])
        let error = #expect(throws: Parser.Failure.self) { try parse("--dry=no") }
        #expect(error?.error.sentence == "--dry 'no': expected true or false")
    }

    @Test("two dashes end the options")
    func endOfOptions() throws {
        let invocation = try Sample.parse("send -- --quick -q Bob")
        #expect(invocation[Sample.letters] == ["--quick", "-q"])
        #expect(!invocation[Sample.quick])
        #expect(try Sample.parse("send - Bob")[Sample.letters] == ["-"])
    }

    @Test("only repeatable options may repeat")
    func repeated() throws {
        #expect(try Sample.parse("send -r one a Bob --relay two")[Sample.relays] == ["one", "two"])
        #expect(try Sample.parse("send a Bob")[Sample.relays] == [])
        #expect(Sample.complaint("send --copies 2 --copies 3 a Bob") == "post send: --copies was given twice")
    }

    @Test("a repeated argument leaves the last word")
    func argumentsAreShared() throws {
        let invocation = try Sample.parse("send a b c Bob")
        #expect(invocation[Sample.letters] == ["a", "b", "c"])
        #expect(invocation[Sample.person] == "Bob")
    }

    @Test("absent options have typed defaults")
    func defaults() throws {
        let invocation = try Sample.parse("send a Bob --limit 4kb")
        #expect(invocation[Sample.wait] == .seconds(1))
        #expect(invocation[Sample.copies] == 1)
        #expect(invocation[Sample.limit] == 4096)
        #expect(invocation[Sample.seal] == nil)
        #expect(try Sample.parse("box open")[Sample.folder] == ".")
        #expect(try Sample.parse("box open here")[Sample.folder] == "here")
    }

    @Test("help and version are accepted anywhere")
    func help() throws {
        for words in [
            ["--help"], ["send", "-h"], ["send", "a", "--help", "--nonsense"], ["box", "--help"],
        ] {
            guard case .help(let path) = try Parser.parse(words, of: Sample.program) else {
                Issue.record("\(words) is no request for help")
                continue
            }
            #expect(path.map(\.name) == ["post"] + words.prefix { !$0.hasPrefix("-") && $0 != "a" })
        }
        guard case .version = try Parser.parse(["--version"], of: Sample.program) else {
            Issue.record("no version")
            return
        }
        #expect(Sample.complaint("send --version a Bob") == "post send: unknown option --version")
    }

    @Test(
        "an invalid command line is explained",
        arguments: [
            ("", "post: a command is missing"),
            ("sned a Bob", "post: unknown command 'sned'; did you mean 'send'?"),
            ("fly", "post: unknown command 'fly'"),
            ("box", "post box: name a subcommand: open, close"),
            ("box opne", "post box: unknown command 'opne'; did you mean 'open'?"),
            ("send", "post send: LETTER is missing"),
            ("send a", "post send: PERSON is missing"),
            ("box close now", "post box close: unexpected argument 'now'"),
            ("send --qiuck a Bob", "post send: unknown option --qiuck; did you mean '--quick'?"),
            ("send --ver a Bob", "post send: unknown option --ver; did you mean '--verbose'?"),
            ("send -x a Bob", "post send: unknown option -x"),
            ("send --quick=yes a Bob", "post send: --quick takes no value"),
            ("send a Bob --relay", "post send: --relay needs a value (ADDR)"),
            ("send a Bob -r", "post send: -r needs a value (ADDR)"),
            (
                "send --wait soon a Bob",
                "post send: --wait 'soon': expected a time such as 500ms, 1s, 5m, 48h or 7d"
            ),
            ("send --copies 10 a Bob", "post send: --copies '10': expected a whole number from 1 to 9"),
            ("send --seal glue a Bob", "post send: --seal 'glue': expected wax or tape"),
            (
                "send --limit much a Bob",
                "post send: --limit 'much': expected a size such as 65536, 512kb or 10gb"
            ),
        ])
    func complaints(line: String, sentence: String) {
        #expect(Sample.complaint(line) == sentence)
    }

    @Test("an empty path is refused")
    func emptyPath() {
        #expect(throws: Parser.Failure.self) { try Parser.parse(["send", "", "Bob"], of: Sample.program) }
    }

    @Test(
        "durations are integers with a unit",
        arguments: [
            ("0", Duration.zero), ("500ms", .milliseconds(500)), ("1s", .seconds(1)), ("5m", .seconds(300)),
            ("48h", .seconds(172_800)), ("7d", .seconds(604_800)),
        ])
    func durations(text: String, duration: Duration) {
        #expect(DurationText.parse(text) == duration)
    }

    @Test(
        "invalid durations are refused",
        arguments: ["", "s", "1", "-1s", "1.5s", "1 s", "99999999999999999d"])
    func noDurations(text: String) {
        #expect(DurationText.parse(text) == nil)
    }
}
