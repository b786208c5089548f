/// The reason why a closed draft may be unfinished and is not sent automatically. Program names come from the
/// system and are printable.
enum HoldReason: Hashable, Sendable {
    /// The program failed to read its source, a file of this mount.
    case failedRead(String)
    /// The draft is a program's state file about another file.
    case stateFile
    /// A state file about the draft exists.
    case besideStateFile
    /// A signal ended the program after it closed the file.
    case signal(String, number: Int32)
    /// The program was handling a signal when it closed or renamed the file, and its exit is unknown.
    case interrupted(String)
    /// The program failed with this exit status.
    case status(String, Int32)
    /// The program ended without closing the file, as after a broken connection.
    case lostConnection(String)
    /// The program's rename of the draft, or of another file to its name, was refused.
    case refusedRename(String)
    /// The program runs and may continue the file.
    case running(String)
    /// A program keeps the draft beside another file, such as an index of it.
    case sidecar
    /// The draft is one of several parts of which a program makes one file.
    case part
    /// An editor saved unsaved text in the draft.
    case unsaved
}

extension HoldReason {
    /// The problem and its remedy.
    var sentence: String {
        switch self {
        case .failedRead(let program):
            "\(program) could not read all of the file that it copied, so this copy is incomplete and is not sent: "
                + "copy it once more. \(Self.remedy)"
        case .stateFile:
            "A program keeps its notes about an unfinished file in this one, so it stays here and is not sent. "
                + Self.remedy
        case .besideStateFile:
            "A file beside this one says that its download is not complete, so it is not sent: have the program "
                + "finish it. \(Self.remedy)"
        case .signal(let program, let number):
            "\(program) was ended by \(Self.name(ofSignal: number)) when it had closed this file, so it may be "
                + "incomplete and is not sent: write it again. \(Self.remedy)"
        case .interrupted(let program):
            "\(program) was interrupted when it closed this file, so it may be incomplete and is not sent: write it "
                + "again. \(Self.remedy)"
        case .status(let program, let status):
            "\(program) ended with the error status \(status), so this file may be incomplete and is not sent: write "
                + "it again. \(Self.remedy)"
        case .lostConnection(let program):
            "\(program) ended before it had closed this file, so it may be incomplete and is not sent: write it "
                + "again. \(Self.remedy)"
        case .refusedRename(let program):
            "\(program) was refused a rename when it had written this file, so it is not sent: rename it yourself "
                + "where you want to send it. \(Self.remedy)"
        case .running(let program):
            "\(program) may go on with this file as long as it runs, so it is sent when that has ended. "
                + Self.remedy
        case .sidecar:
            "A program keeps this file beside another one of this folder, such as an index or a log of it, so it "
                + "stays here and is not sent. \(Self.remedy)"
        case .part:
            "A program makes one file of several parts, of which this is one, so it stays here and is not sent. "
                + Self.remedy
        case .unsaved:
            "An editor put text into this file that was not saved, so it stays here and is not sent. "
                + Self.remedy
        }
    }

    private static let remedy = "chatfs retry sends it as it is, chatfs cancel discards it."

    private static func name(ofSignal number: Int32) -> String {
        let names: [Int32: String] = [
            1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE",
            14: "SIGALRM", 15: "SIGTERM",
        ]
        return names[number] ?? "signal \(number)"
    }
}

extension HoldReason {
    /// True if the decision is repeated when the program ends.
    var isOfRunningProgram: Bool { if case .running = self { true } else { false } }

    /// True for a program's own file; no part of a message is missing.
    var isOfProgramsOwnFile: Bool { [.stateFile, .sidecar, .part].contains(self) }
}

// MARK: - In the journal

extension HoldReason {
    /// A keyword, a number if there is one, and the program's name.
    var journalText: String {
        switch self {
        case .failedRead(let program): "read \(program)"
        case .stateFile: "state"
        case .besideStateFile: "beside"
        case .signal(let program, let number): "signal \(number) \(program)"
        case .interrupted(let program): "interrupted \(program)"
        case .status(let program, let status): "status \(status) \(program)"
        case .lostConnection(let program): "lost \(program)"
        case .refusedRename(let program): "rename \(program)"
        case .running(let program): "running \(program)"
        case .sidecar: "sidecar"
        case .part: "part"
        case .unsaved: "unsaved"
        }
    }

    /// Returns nil for unknown text.
    init?(journalText text: String) {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        guard let word = parts.first else { return nil }
        let rest = parts.count == 2 ? parts[1] : ""
        switch (word, rest.isEmpty) {
        case ("state", true): self = .stateFile
        case ("beside", true): self = .besideStateFile
        case ("sidecar", true): self = .sidecar
        case ("part", true): self = .part
        case ("unsaved", true): self = .unsaved
        case ("read", false): self = .failedRead(rest)
        case ("interrupted", false): self = .interrupted(rest)
        case ("lost", false): self = .lostConnection(rest)
        case ("rename", false): self = .refusedRename(rest)
        case ("running", false): self = .running(rest)
        case ("signal", false), ("status", false):
            let words = rest.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2, let number = Int32(words[0]) else { return nil }
            self = word == "signal" ? .signal(words[1], number: number) : .status(words[1], number)
        default: return nil
        }
    }
}
