/// The completions of one command, common to all shells.
struct CompletionEntry {
    /// Words after the program's name: "" for the program, "file send" for a subcommand.
    let path: String
    let subcommands: [Command]
    let options: [any OptionDeclaration]
    let arguments: [any ArgumentDeclaration]
    /// Path of the subcommand that runs if an option precedes any name.
    let unnamed: String?

    static func all(of program: Command) -> [CompletionEntry] {
        entries(of: program, path: [], isProgram: true)
    }

    private static func entries(of command: Command, path: [String], isProgram: Bool) -> [CompletionEntry] {
        let unnamed = command.subcommands.first { $0.name == command.unnamed }
        let entry = CompletionEntry(
            path: path.joined(separator: " "), subcommands: command.subcommands.filter { !$0.isHidden },
            options: Help.allOptions(of: command, isProgram: isProgram) + (unnamed?.options ?? []),
            arguments: command.arguments,
            unnamed: unnamed.map { (path + [$0.name]).joined(separator: " ") })
        return [entry]
            + entry.subcommands.flatMap { entries(of: $0, path: path + [$0.name], isProgram: false) }
    }

    /// The candidates for each leading argument position, and for all later ones. Behind an optional or repeated
    /// argument, the following arguments are candidates too.
    var places: (first: [[CompletionKind]], rest: [CompletionKind]) {
        let count = spans.map { ($0.last ?? $0.first - 1) + 1 }.max() ?? 0
        return ((0..<count).map(kinds), kinds(at: count))
    }

    /// First and last position of each argument; nil if unlimited.
    private var spans: [(kind: CompletionKind, first: Int, last: Int?)] {
        var (least, most) = (0, Int?.some(0))
        return arguments.map { argument in
            let first = least
            if argument.count == .one || argument.count == .oneOrMore { least += 1 }
            let isOne = argument.count == .one || argument.count == .optional
            let last = isOne ? most : nil
            most = last.map { $0 + 1 }
            return (CompletionKind(argument.type), first, last)
        }
    }

    private func kinds(at place: Int) -> [CompletionKind] {
        var kinds: [CompletionKind] = []
        for span in spans where span.first <= place && place <= span.last ?? .max {
            if span.kind != .nothing, !kinds.contains(span.kind) { kinds.append(span.kind) }
        }
        return kinds.isEmpty ? [.nothing] : kinds
    }

    /// Options with a value in the next word.
    var valueOptions: [String] {
        options.filter { $0.type != nil }.flatMap(\.words)
    }

    /// True if the command has subcommands.
    var isGroup: Bool { !subcommands.isEmpty }

    /// Returns a word after this command as a `case` pattern of shells.
    fileprivate func pattern(_ word: String) -> String { "'\(path):\(word)'" }
}

extension [CompletionEntry] {
    /// The verbosity options, which groups accept too.
    static let verbosity = Verbosity.options.flatMap(\.words)

    /// Patterns of all subcommands with their paths.
    var commands: [(pattern: String, path: String)] {
        flatMap { entry in
            entry.subcommands.map { command in
                (entry.pattern(command.name), (entry.path.isEmpty ? "" : entry.path + " ") + command.name)
            }
        }
    }

    /// Returns, for each command with any, the patterns of options with a value.
    func valueOptionPatterns(separator: String) -> [String] {
        filter { !$0.valueOptions.isEmpty }.map { entry in
            entry.valueOptions.map(entry.pattern).joined(separator: separator)
        }
    }

    /// Returns each option that takes a value, and the candidates for it.
    func valuedOptions(separator: String) -> [(pattern: String, kind: CompletionKind)] {
        flatMap { entry in
            entry.options.compactMap { option in
                option.completion.map { kind in
                    (pattern: option.words.map(entry.pattern).joined(separator: separator), kind: kind)
                }
            }
        }
    }
}

extension OptionDeclaration {
    /// The candidates for the value, for a flag after `=`; nil if it takes none.
    var completion: CompletionKind? {
        type.map { CompletionKind($0) } ?? (isConfigurable ? .words(["true", "false"]) : nil)
    }
}

/// The kind of candidates at a position.
enum CompletionKind: Equatable {
    case files, folders, nothing
    case words([String])
    /// The lines printed by `PROGRAM complete LIST`.
    case listed(String)

    init(_ type: ValueType) {
        self =
            switch type {
            case .file: .files
            case .folder: .folders
            case .choice(let words): .words(words)
            case .listed(let list): .listed(list)
            case .text, .integer, .byteCount, .duration: .nothing
            }
    }
}
