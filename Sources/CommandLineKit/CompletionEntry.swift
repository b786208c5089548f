/// What can follow one command: the common ground of the three scripts.
struct CompletionEntry {
    /// Words behind the program's name: "" for the program, "file send" for a subcommand.
    let path: String
    let subcommands: [Command]
    let options: [Option]
    let arguments: [Argument]

    static func all(of program: Command) -> [CompletionEntry] {
        entries(of: program, path: [], isProgram: true)
    }

    private static func entries(of command: Command, path: [String], isProgram: Bool) -> [CompletionEntry] {
        let unnamed = command.subcommands.first { $0.name == command.unnamed }
        let entry = CompletionEntry(
            path: path.joined(separator: " "), subcommands: command.subcommands.filter { !$0.isHidden },
            options: Help.allOptions(of: command, isProgram: isProgram) + (unnamed?.options ?? []),
            arguments: command.arguments)
        return [entry]
            + entry.subcommands.flatMap { entries(of: $0, path: path + [$0.name], isProgram: false) }
    }

    /// What each argument may be, in their order; the last also stands for all behind it. Never empty.
    var argumentKinds: [CompletionKind] {
        arguments.isEmpty ? [.nothing] : arguments.map { CompletionKind($0.type) }
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
