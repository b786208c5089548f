/// Parses the words of a command line into an `Invocation`. Pure: no output, no exit.
///
/// Options may stand before, between and after arguments. `--name value` equals `--name=value`, `-abc` equals `-a -b
/// -c` if none of them takes a value, and `-ofile` equals `-o file`. An option with a value takes the next word even if
/// it begins with `-`. `--flag=false` turns off a flag that a configuration may set; the last one counts. `--` ends the
/// options; a lone `-` is an argument.
public struct Parser {
    /// The request of a command line.
    public enum Request {
        case run(Invocation)
        /// `--help` for the last command of this path.
        case help([Command])
        /// `--version`; detailed with `--verbose`.
        case version(isDetailed: Bool)
    }

    /// An invalid command line, with the path of the command whose help explains it.
    public struct Failure: Error {
        public let path: [String]
        public let error: UsageError
    }

    private let program: Command
    private var commands: [Command]
    private var options: [String: [String]] = [:]
    private var words: [String] = []
    /// The last command named so far.
    private var command: Command { commands[commands.count - 1] }
    private var verbosity = Verbosity.normal

    private init(program: Command) {
        self.program = program
        commands = [program]
    }

    /// Parses a command line.
    /// - Parameter words: The arguments without the program's name.
    /// - Throws: The reason, for the user.
    public static func parse(
        _ words: [String], of program: Command, stop: StopRequest = StopRequest()
    ) throws(Failure) -> Request {
        var parser = Parser(program: program)
        do throws(UsageError) {
            return try parser.parse(words, stop: stop)
        } catch {
            throw Failure(path: parser.commands.map(\.name), error: error)
        }
    }

    private mutating func parse(_ input: [String], stop: StopRequest) throws(UsageError) -> Request {
        var rest = input[...]
        while let word = rest.popFirst() {
            if word == "--" {
                for word in rest { try take(word) }
                break
            }
            if word == "--help" || word == "-h" { return .help(commands) }
            if word == "--version", commands.count == 1 {
                return .version(isDetailed: verbosity >= .verbose || rest.contains(where: Self.isVerbose))
            }
            if word.hasPrefix("-"), word != "-", !Verbosity.isOption(word), isOfUnnamed(word) {
                enterUnnamed()
            }
            if word.hasPrefix("--") {
                try takeLong(word.dropFirst(2), &rest)
            } else if word.hasPrefix("-"), word != "-" {
                if try takeShort(word.dropFirst(), &rest) { return .help(commands) }
            } else {
                try take(word)
            }
        }
        enterUnnamed()
        guard command.begin != nil else {
            let names = command.subcommands.filter { !$0.isHidden }.map(\.name)
            throw UsageError(
                commands.count == 1
                    ? "a command is missing" : "name a subcommand: \(names.joined(separator: ", "))")
        }
        return .run(
            Invocation(
                path: commands.map(\.name), command: command, program: program, stop: stop,
                options: options, arguments: try assign(words, to: command.arguments), verbosity: verbosity))
    }

    private static func isVerbose(_ word: String) -> Bool { ["-v", "-vv", "--verbose"].contains(word) }

    /// Enters the unnamed subcommand, which takes the group's options.
    private mutating func enterUnnamed() {
        guard let name = command.unnamed, let next = command.subcommands.first(where: { $0.name == name })
        else { return }
        commands.append(next)
    }

    /// Returns true if the option may belong to the unnamed subcommand. For the program itself only that command's own
    /// options do; others are mistakes.
    private func isOfUnnamed(_ word: String) -> Bool {
        guard commands.count == 1, let next = command.subcommands.first(where: { $0.name == command.unnamed })
        else { return true }
        let name = word.drop { $0 == "-" }.prefix { $0 != "=" }
        return next.options.contains { $0.name == name }
    }

    /// Takes a word without dashes: the next command's name, or an argument.
    private mutating func take(_ word: String) throws(UsageError) {
        guard !command.subcommands.isEmpty else {
            words.append(word)
            return
        }
        guard let next = command.subcommands.first(where: { $0.name == word }) else {
            if takesUnnamed(word) {
                enterUnnamed()
                words.append(word)
                return
            }
            if commands.count == 1, word == "version" {
                throw UsageError("unknown command 'version'; did you mean '--version'?")
            }
            throw UsageError("unknown command '\(word)'" + command.suggestion(for: word))
        }
        commands.append(next)
    }

    /// Returns true if a word is an argument of the unnamed subcommand rather than a mistyped name.
    private func takesUnnamed(_ word: String) -> Bool {
        guard let unnamed = command.subcommands.first(where: { $0.name == command.unnamed }),
            !unnamed.arguments.isEmpty
        else { return false }
        return word.contains("/") || command.suggestion(for: word).isEmpty
    }

    private mutating func takeLong(
        _ word: Substring, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let known = command.options
        guard let option = known.first(where: { $0.name == name }) else {
            let common = Help.allOptions(of: command, isProgram: commands.count == 1)
            if parts.count == 2, common.contains(where: { $0.name == name }) {
                throw UsageError("--\(name) takes no value")
            }
            if let common = Verbosity.options.first(where: { $0.name == name }) {
                return changeVerbosity(common)
            }
            let names = (known + Verbosity.options).map { "--" + $0.name } + ["--help"]
            throw UsageError("unknown option --\(name)" + Suggestion.text(for: "--" + name, among: names))
        }
        let written = parts.count == 2 ? String(parts[1]) : nil
        if option.type == nil {
            guard let written else { return try store("", for: option) }
            guard option.isConfigurable else { throw UsageError("--\(name) takes no value") }
            if let complaint = ValueType.choice(["true", "false"]).complaint(about: written) {
                throw UsageError("--\(name) '\(written)': \(complaint)")
            }
            options[name] = written == "true" ? [""] : []
        } else if let value = written ?? rest.popFirst() {
            try store(value, for: option)
        } else {
            throw UsageError("--\(name) needs a value (\(option.valueName))")
        }
    }

    /// - Returns: True if help is requested.
    private mutating func takeShort(
        _ letters: Substring, _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> Bool {
        var letters = letters
        while let letter = letters.popFirst() {
            let known = command.options
            guard let option = known.first(where: { $0.short == letter }) else {
                if let common = Verbosity.options.first(where: { $0.short == letter }) {
                    changeVerbosity(common)
                    continue
                }
                if letter == Help.helpOption.short { return true }
                throw UsageError("unknown option -\(letter)")
            }
            if option.type == nil {
                try store("", for: option)
            } else if !letters.isEmpty {
                try store(String(letters), for: option)
                return false
            } else if let value = rest.popFirst() {
                try store(value, for: option)
            } else {
                throw UsageError("-\(letter) needs a value (\(option.valueName))")
            }
        }
        return false
    }

    /// The last of `--quiet` and `--verbose` counts.
    private mutating func changeVerbosity(_ option: any OptionDeclaration) {
        if option.name == Verbosity.quietOption.name {
            verbosity = .quiet
        } else {
            verbosity = verbosity == .verbose || verbosity == .debug ? .debug : .verbose
        }
    }

    private mutating func store(_ value: String, for option: any OptionDeclaration) throws(UsageError) {
        if let complaint = option.type?.complaint(about: value) {
            throw UsageError("--\(option.name) '\(value)': \(complaint)")
        }
        if option.type != nil, !option.repeats, options[option.name] != nil {
            throw UsageError("--\(option.name) was given twice")
        }
        options[option.name, default: []].append(value)
    }

    /// Assigns words to arguments in order. A repeated argument leaves enough words for the required ones after it.
    private func assign(
        _ words: [String], to arguments: [any ArgumentDeclaration]
    ) throws(UsageError) -> [String: [String]] {
        var result: [String: [String]] = [:]
        var rest = words[...]
        for (index, argument) in arguments.enumerated() {
            let needed = arguments[(index + 1)...].count { $0.count == .one || $0.count == .oneOrMore }
            let spare = max(0, rest.count - needed)
            let count: Int
            switch argument.count {
            case .one: count = 1
            case .optional: count = min(1, spare)
            case .oneOrMore: count = max(1, spare)
            case .any: count = spare
            }
            guard rest.count >= count else { throw UsageError("\(argument.name) is missing") }
            for value in rest.prefix(count) {
                if let complaint = argument.type.complaint(about: value) {
                    throw UsageError("\(argument.name) '\(value)': \(complaint)")
                }
                result[argument.name, default: []].append(value)
            }
            rest = rest.dropFirst(count)
        }
        if let extra = rest.first { throw UsageError("unexpected argument '\(extra)'") }
        return result
    }
}
