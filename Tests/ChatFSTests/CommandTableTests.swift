import Base
import Posix
import Testing

@testable import CommandLineKit
@testable import chatfs

/// The command table, from which parsing, help, manual and completions are generated.
@Suite("The command table")
struct CommandTableTests {
    /// Every command with its path, the program first.
    static let paths: [[Command]] = all(below: [ChatFS.program])

    private static func all(below path: [Command]) -> [[Command]] {
        [path] + path[path.count - 1].subcommands.flatMap { all(below: path + [$0]) }
    }

    private static func name(_ path: [Command]) -> String { path.map(\.name).joined(separator: " ") }
    private static var commands: [(name: String, command: Command)] {
        paths.map { (name($0), $0[$0.count - 1]) }
    }

    @Test("help fits the width except examples")
    func helpFits() {
        for width in [40, 50, 80] {
            for path in Self.paths {
                let lines = Help.text(for: path, width: width).split(separator: "\n")
                for line in lines where !line.hasPrefix("  $ ") {
                    // A long path or address may exceed a narrow width.
                    let isWord = !line.drop { $0 == " " }.contains(" ")
                    #expect(
                        line.count <= width || width < 80 && isWord,
                        "\(Self.name(path)) at \(width): \(line)")
                }
            }
        }
    }

    @Test("descriptions are sentences, names lower case")
    func words() {
        #expect(Self.paths.count > 60)
        for (name, command) in Self.commands {
            #expect(command.name.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil, "\(name)")
            #expect(command.abstract.hasSuffix(".") && command.abstract.first?.isUppercase == true, "\(name)")
            for option in command.options {
                #expect(
                    option.name.wholeMatch(of: /[a-z]+[0-9]?(-[a-z]+)*/) != nil, "\(name) --\(option.name)")
                #expect(
                    option.help.last.map { ".;)".contains($0) } == true,
                    "\(name) --\(option.name): \(option.help)")
                #expect((option.type == nil) == option.valueName.isEmpty, "\(name) --\(option.name)")
                #expect(option.valueName == option.valueName.uppercased(), "\(name) --\(option.name)")
            }
            for argument in command.arguments {
                #expect(argument.name == argument.name.uppercased() && !argument.help.isEmpty, "\(name)")
            }
        }
    }

    @Test("names are unique; -h, -q, -v are reserved")
    func names() {
        for (name, command) in Self.commands {
            let options = command.options.map(\.name)
            #expect(Set(options).count == options.count, "\(name): \(options)")
            let letters = command.options.compactMap(\.short)
            #expect(Set(letters).count == letters.count && !letters.contains("h"), "\(name): \(letters)")
            #expect(!options.contains("help") && !options.contains("version"), "\(name)")
            let arguments = command.arguments.map(\.name)
            #expect(Set(arguments).count == arguments.count, "\(name)")
            let words = command.subcommands.map(\.name)
            #expect(Set(words).count == words.count, "\(name)")
        }
    }

    @Test("passphrases and codes come from descriptors or files")
    func secrets() {
        for (name, command) in Self.commands {
            for argument in command.arguments {
                #expect(!argument.name.lowercased().contains("pass"), "\(name) \(argument.name)")
            }
            for option in command.options where option.type != nil {
                let isSecret = ["passphrase", "password", "recovery"].contains { option.name.contains($0) }
                let isRead = ["-fd", "-file"].contains { option.name.hasSuffix($0) }
                #expect(!isSecret || isRead, "\(name) --\(option.name)")
            }
        }
    }

    @Test("defaults are valid values")
    func defaults() {
        for (name, command) in Self.commands {
            for option in command.options {
                guard let type = option.type, let text = option.defaultText else { continue }
                #expect(type.complaint(about: text) == nil, "\(name) --\(option.name) '\(text)'")
            }
        }
    }

    @Test("top-level commands have sections")
    func sections() {
        for path in Self.paths where path.count == 2 {
            #expect(path[1].isHidden || !path[1].section.isEmpty, "\(Self.name(path))")
        }
        let titles = Help.sections(of: ChatFS.program).map(\.title)
        #expect(Set(titles).count == titles.count && titles.count == 5)
    }

    @Test("examples parse and are explained")
    func examples() throws {
        var count = 0
        for (name, command) in Self.commands {
            for example in command.examples {
                count += 1
                #expect(example.meaning.hasSuffix("."), "\(name): \(example.meaning)")
                let words = Self.words(Self.inner(example.line))
                guard let start = words.firstIndex(of: "chatfs") else {
                    Issue.record("\(name): \(example.line) does not call chatfs")
                    continue
                }
                // Stops at a pipe, a redirection or the next shell command.
                let own = words[(start + 1)...].prefix {
                    !["|", ">", "<", "&&", ";", "&", "2>"].contains($0)
                }
                do throws(Parser.Failure) {
                    switch try Parser.parse(Array(own), of: ChatFS.program) {
                    case .run(let invocation):
                        let path = invocation.path.joined(separator: " ")
                        #expect(path == name || path.hasPrefix(name + " "), "\(example.line) runs \(path)")
                    case .help(let path):
                        #expect(Self.name(path) == name, "\(example.line)")
                    case .version: Issue.record("\(example.line)")
                    }
                } catch {
                    Issue.record("\(name): \(example.line): \(error.error.sentence)")
                }
            }
        }
        #expect(count > 60)
    }

    /// The command within `eval "$(…)"`.
    private static func inner(_ line: String) -> String {
        guard let match = line.firstMatch(of: /\$\((.*)\)/) else { return line }
        return String(match.1)
    }

    /// Splits like a shell; quotes group, nothing is expanded.
    static func words(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if quote == nil, character == " " {
                if let done = word { words.append(done) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + [word].compactMap { $0 }
    }

    @Test("manual and completions contain every option")
    func everywhere() {
        let page = ManualPage.text(
            for: ChatFS.program, version: Release.version, files: ManualTexts.files,
            environment: ManualTexts.environment
        )
        let lines = Set(page.split(separator: "\n"))
        let words = Set(Self.tokens(page.replacing("\\-", with: "-")))
        let entries = CompletionEntry.all(of: ChatFS.program)
        for path in Self.paths.dropFirst() {
            let command = path[path.count - 1]
            let isHidden = path.contains { $0.isHidden }
            let name = Self.name(Array(path.dropFirst()))
            let entry = entries.first { $0.path == name }
            #expect((entry == nil) == isHidden, "\(name)")
            if command.subcommands.isEmpty {
                let usage = ".SS " + ManualPage.escaped(Help.usage(of: path))
                #expect(lines.contains(Substring(usage)) != isHidden, "\(usage)")
            }
            for option in command.options where !isHidden {
                #expect(words.contains("--" + option.name), "\(name) --\(option.name)")
                #expect(entry?.options.contains { $0.name == option.name } == true)
            }
        }
        for shell in Completion.allCases {
            let tokens = Self.tokens(shell.script(for: ChatFS.program))
            // fish writes `-l name` for `--name`.
            let offered = Set(
                shell == .fish
                    ? zip(tokens, tokens.dropFirst()).filter { $0.0 == "-l" }.map { "--" + $0.1 } : tokens)
            for entry in entries {
                for option in entry.options {
                    #expect(offered.contains("--" + option.name), "\(shell): \(entry.path) --\(option.name)")
                }
            }
        }
        // Only requests begin with a request character.
        for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(line.wholeMatch(of: /\.(TH|SH|SS|PP|TP|B|I|nf|fi|RS|RE)( .*)?/) != nil, "\(line)")
        }
    }

    /// Words of letters, digits and dashes.
    private static func tokens(_ text: String) -> [String] {
        text.utf8.split { byte in
            !(97...122).contains(byte) && !(48...57).contains(byte) && byte != UInt8(ascii: "-")
        }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func flagsOfConfigurationCanBeTurnedOff() throws {
        let flags = MountOptions.all.filter { $0.type == nil }
        #expect(flags.contains { $0.name == "no-finish" })
        for flag in flags {
            let isInFile = !ConfigurationAccess.onlyOnCommandLine.contains(flag.name)
            #expect(flag.isConfigurable == isInFile, "--\(flag.name)")
        }
        guard
            case .run(let invocation) = try Parser.parse(
                ["mount", "/m", "--no-finish=false"], of: ChatFS.program)
        else {
            Issue.record("no command ran")
            return
        }
        let text = "[mount]\nno-finish = true\n"
        let configuration = try ConfigurationAccess.reader.read(Array(text.utf8))
        let options = configuration.options(of: nil)
        #expect(options[MountOptions.noFinish.name] == [""])
        #expect(!invocation.adding(options)[MountOptions.noFinish])
    }

    @Test("completion lists exist")
    func lists() throws {
        var lists: Set<String> = []
        for (_, command) in Self.commands {
            for type in command.arguments.map(\.type) + command.options.compactMap(\.type) {
                if case .listed(let list) = type { lists.insert(list) }
            }
        }
        let complete = try #require(ChatFS.program.subcommands.first { $0.name == "complete" })
        guard case .choice(let known)? = complete.arguments.first?.type else {
            Issue.record("complete takes no list by name")
            return
        }
        #expect(lists == Set(known))
    }

    @Test("common options have common meanings")
    func shared() {
        let names = ["data", "profile", "passphrase-fd", "key-fd", "recovery-code-fd", "confirm-migration"]
        var forms: [String: Set<String>] = [:]
        for (_, command) in Self.commands {
            for option in command.options where names.contains(option.name) {
                let type = option.type.map { "\($0)" } ?? ""
                forms[option.name, default: []].insert("\(option.valueName) \(type)")
            }
        }
        #expect(forms.count == names.count)
        for (name, texts) in forms { #expect(texts.count == 1, "--\(name): \(texts)") }
        // Commands that open the data accept every unlock option.
        for (name, command) in Self.commands {
            let given = Set(command.options.map(\.name)).intersection([
                "passphrase-fd", "key-fd", "recovery-code-fd",
            ])
            #expect(given.isEmpty || given.count == 3, "\(name): \(given)")
        }
    }
}

/// The code that reads the options.
@Suite("Use of options")
struct OptionReadersTests {
    /// A constant of the program's code, `static let json = Option.flag("json", …`.
    private struct Constant {
        let name: String
        let option: String
        /// Mentions of the constant where it is visible, with its declaration.
        let mentions: Int
    }

    private static func constants() throws -> [Constant] {
        let files = try LayeringTests.swiftFiles(in: "Sources/chatfs").map { try LayeringTests.text($0) }
        let words = files.map(counts)
        return zip(files, words).flatMap { text, own in
            text.matches(
                of:
                    /(private )?static let (\w+) = (?:Option|Argument)(?:\.\w+)?\(\s*(?:optional: )?"([^"]+)"/
            ).map { match in
                let name = String(match.2)
                let visible = match.1 == nil ? words : [own]
                return Constant(
                    name: name, option: String(match.3),
                    mentions: visible.reduce(0) { $0 + ($1[name] ?? 0) })
            }
        }
    }

    /// Returns how often the code has each word.
    private static func counts(_ text: String) -> [String: Int] {
        SourceTokens(text).tokens.reduce(into: [:]) { counts, token in
            if case .word(let word) = token { counts[word, default: 0] += 1 }
        }
    }

    @Test("every declared option is offered and read")
    func options() throws {
        let commands = CommandTableTests.paths.map { $0[$0.count - 1] }
        let offered = Set(commands.flatMap { $0.options.map(\.name) + $0.arguments.map(\.name) })
        let constants = try Self.constants()
        #expect(constants.count > 150 && constants.contains { $0.option == "MOUNTPOINT" })
        for constant in constants {
            #expect(offered.contains(constant.option), "\(constant)")
            // Declared, offered and read.
            #expect(constant.mentions > 2, "\(constant)")
        }
    }

    @Test("options are read by constants")
    func lookups() throws {
        for path in try LayeringTests.swiftFiles(in: "Sources/chatfs") {
            #expect(try !LayeringTests.text(path).contains(/(?:invocation|given|keep)\["/), "\(path)")
        }
    }
}
