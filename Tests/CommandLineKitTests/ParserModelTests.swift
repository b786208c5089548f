import TestSupport
import Testing

@testable import CommandLineKit

/// The same request in every spelling.
@Suite("The parser against a model")
struct ParserModelTests {
    private static let letters = Argument("LETTER", .text, count: .oneOrMore, "What.")
    private static let person = Argument("PERSON", .text, "Whom.")
    private static let quick = Option.flag("quick", short: "k", "Run.")
    private static let flags = [
        quick, .flag("open", short: "o", "Unsealed."), .flag("plain", "Without a stamp."),
    ]
    private static let relays = Option.list("relay", short: "r", named: "ADDR", .text, "Through.")
    private static let wait = Option("wait", short: "w", named: "TIME", .duration, "Before.")
    private static let copies = Option("copies", named: "N", .integer(1...9), default: 1, "How many.")
    private static let command = Command(
        "send", "Send.", arguments: [letters, person], options: flags + [relays, wait, copies]
    ) { _ in }
    private static let program = Command(
        "post", "Carries.",
        subcommands: [command, Command("box", "Boxes.", subcommands: [Command("open", "Open.") { _ in }])])

    /// The meaning of a command line.
    private struct Meaning {
        var flags: Set<String> = []
        var relays: [String] = []
        var wait: String?
        var copies: String?
        var letters: [String] = []
        var person = ""

        init(_ generator: inout SeededGenerator) {
            let words = ["a", "-", "b c", "x=y", "--", "ü", "--quick", "-k", "", "=", "letter"]
            // A word with a leading dash is an argument only after --.
            func word(_ generator: inout SeededGenerator) -> String {
                words.randomElement(using: &generator) ?? "a"
            }
            for flag in ["quick", "open", "plain"] where Bool.random(using: &generator) { flags.insert(flag) }
            relays = (0..<Int.random(in: 0...3, using: &generator)).map { _ in word(&generator) }
            wait =
                Bool.random(using: &generator) ? ["0", "5s", "100ms"].randomElement(using: &generator) : nil
            copies = Bool.random(using: &generator) ? "\(Int.random(in: 1...9, using: &generator))" : nil
            letters = (0..<Int.random(in: 1...3, using: &generator)).map { _ in word(&generator) }
            person = word(&generator)
        }

        /// Returns a random spelling.
        func written(_ generator: inout SeededGenerator) -> [String] {
            var pieces: [[String]] = flags.sorted().map { flag in
                let short = ["quick": "-k", "open": "-o"][flag]
                return [Bool.random(using: &generator) ? "--" + flag : short ?? "--" + flag]
            }
            for relay in relays { pieces.append(Self.option("relay", "r", relay, &generator)) }
            if let wait { pieces.append(Self.option("wait", "w", wait, &generator)) }
            if let copies { pieces.append(Self.option("copies", nil, copies, &generator)) }
            // Values of one option keep their order.
            let order = pieces.indices.shuffled(using: &generator)
            let sorted = order.filter { pieces[$0].joined().contains("r") && isRelay(pieces[$0]) }.sorted()
            var next = sorted.makeIterator()
            pieces = order.map { isRelay(pieces[$0]) ? pieces[next.next() ?? $0] : pieces[$0] }
            let arguments = letters + [person]
            let plain = arguments.allSatisfy { $0 == "-" || !$0.hasPrefix("-") }
            guard plain, Bool.random(using: &generator) else {
                return ["send"] + pieces.flatMap { $0 } + ["--"] + arguments
            }
            // Options between, before and after arguments.
            var result: [[String]] = pieces
            var place = 0
            for argument in arguments {
                place = Int.random(in: place...result.count, using: &generator)
                result.insert([argument], at: place)
                place += 1
            }
            return ["send"] + result.flatMap { $0 }
        }

        private func isRelay(_ piece: [String]) -> Bool {
            piece[0].hasPrefix("--relay") || piece[0].hasPrefix("-r")
        }

        private static func option(
            _ name: String, _ short: String?, _ value: String, _ generator: inout SeededGenerator
        ) -> [String] {
            switch Int.random(in: 0...3, using: &generator) {
            case 0: ["--\(name)=\(value)"]
            case 1 where short != nil && !value.isEmpty: ["-\(short ?? "")\(value)"]
            case 2 where short != nil: ["-\(short ?? "")", value]
            default: ["--\(name)", value]
            }
        }
    }

    @Test("every spelling gives the same request")
    func written() throws {
        var generator = SeededGenerator(state: 2_026)
        for _ in 0..<2000 {
            let meaning = Meaning(&generator)
            let line = meaning.written(&generator)
            guard case .run(let found) = try Parser.parse(line, of: Self.program) else {
                Issue.record("\(line) runs nothing")
                continue
            }
            for flag in Self.flags {
                #expect(found[flag] == meaning.flags.contains(flag.name), "\(line)")
            }
            #expect(found[Self.relays] == meaning.relays, "\(line)")
            #expect(found.given["wait"]?.last == meaning.wait, "\(line)")
            #expect(found[Self.copies] == meaning.copies.flatMap { Int($0) } ?? 1, "\(line)")
            #expect(found[Self.letters] == meaning.letters, "\(line)")
            #expect(found[Self.person] == meaning.person && found.path == ["post", "send"], "\(line)")
        }
    }

    @Test("any words give a request or error")
    func total() {
        var generator = SeededGenerator(state: 77)
        let words = [
            "send", "box", "open", "a", "-", "--", "-k", "-kw", "-w", "--wait", "--wait=", "--wait=1s",
            "--relay",
            "-rx", "-r=", "--quick=", "--quick", "--=", "-=", "--copies=10", "--help", "-h", "--version",
            "-v",
            "-qv", "--verbose", "--quiet=1", "-z", "--nothing", "", "é", "-é", "--wait\u{0}",
        ]
        for _ in 0..<5000 {
            let line = (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                words.randomElement(using: &generator) ?? ""
            }
            do throws(Parser.Failure) {
                switch try Parser.parse(line, of: Self.program) {
                case .help(let path): #expect(path.first?.name == "post")
                case .version: #expect(line.contains("--version"))
                case .run(let found):
                    #expect(["send", "open"].contains(found.command.name))
                    // Parsed values are within their limits.
                    if found.command.name == "send" {
                        #expect((1...9).contains(found[Self.copies]))
                    }
                }
            } catch {
                #expect(!error.error.sentence.isEmpty && error.path.first == "post")
                #expect(!error.error.sentence.hasSuffix("."), "\(error.error.sentence)")
            }
        }
    }

    @Test("values may begin with dashes")
    func dashes() throws {
        guard
            case .run(let found) = try Parser.parse(
                ["send", "-r", "--", "--relay", "-k", "--relay=--", "x", "--", "-k", "--"], of: Self.program)
        else {
            Issue.record("it runs nothing")
            return
        }
        #expect(found[Self.relays] == ["--", "-k", "--"] && !found[Self.quick])
        #expect(found[Self.letters] == ["x", "-k"] && found[Self.person] == "--")
    }
}
