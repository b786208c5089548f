/// What can follow one command: the common ground of the three scripts.
struct CompletionEntry {
    /// Words behind the program's name: "" for the program, "file send" for a subcommand.
    let path: String
    let subcommands: [Command]
    let options: [Option]
    let arguments: [Argument]
    /// The path of the subcommand that is meant where an option comes before any name.
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

    /// What the first arguments may be, each in its place, and what all behind them may be. Where an argument may be
    /// missing, or be several, the next ones may stand in its place too. Nothing stands for itself alone.
    var places: (first: [[CompletionKind]], rest: [CompletionKind]) {
        let count = spans.map { ($0.last ?? $0.first - 1) + 1 }.max() ?? 0
        return ((0..<count).map(kinds), kinds(at: count))
    }

    /// The first and the last place of each argument; nil: there is no last.
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

    /// Options that take the next word.
    var valueOptions: [String] {
        options.filter { $0.type != nil }.flatMap { ["--" + $0.name] + ($0.short.map { ["-\($0)"] } ?? []) }
    }

    /// Every name that leads from this command to the next.
    var isGroup: Bool { !subcommands.isEmpty }

    /// A word behind this command, as patterns of `case` in shells have it.
    fileprivate func pattern(_ word: String) -> String { "'\(path):\(word)'" }
}

extension [CompletionEntry] {
    /// Words that say how much is said, which belong to a group itself.
    static let verbosity = Verbosity.options.flatMap {
        ["--" + $0.name] + ($0.short.map { ["-\($0)"] } ?? [])
    }

    /// The patterns of all subcommands, and the paths that they lead to.
    var commands: [(pattern: String, path: String)] {
        flatMap { entry in
            entry.subcommands.map { command in
                (entry.pattern(command.name), (entry.path.isEmpty ? "" : entry.path + " ") + command.name)
            }
        }
    }

    /// For each command that has some: the options that take the next word.
    func valueOptionPatterns(separator: String) -> [String] {
        filter { !$0.valueOptions.isEmpty }.map { entry in
            entry.valueOptions.map(entry.pattern).joined(separator: separator)
        }
    }

    /// Each of these options, and what its value may be.
    func valuedOptions(separator: String) -> [(pattern: String, kind: CompletionKind)] {
        flatMap { entry in
            entry.options.compactMap { option in
                guard let type = option.type else { return nil }
                let names = ["--" + option.name] + (option.short.map { ["-\($0)"] } ?? [])
                return (names.map(entry.pattern).joined(separator: separator), CompletionKind(type))
            }
        }
    }
}

/// What a shell offers in a place.
enum CompletionKind: Equatable {
    case files, folders, nothing
    case words([String])
    /// The lines that `PROGRAM complete LIST` prints.
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
