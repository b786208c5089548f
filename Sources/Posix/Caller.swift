import Base
import Glibc

/// A program that has to do with a file, as far as it is known.
public struct Caller: Hashable, Sendable {
    /// Path of its executable.
    public let executable: String
    /// The words of its command line, its own name first; empty where they are not known.
    public let arguments: [String]

    public init(executable: String, arguments: [String] = []) {
        self.executable = executable
        self.arguments = arguments
    }

    /// What it is called in rules and in the log: the script, where an interpreter runs one.
    public var name: String { lastComponent(of: script ?? executable) }

    /// The same for the log: a program may be called anything.
    public var printableName: String {
        String(name.prefix(64).filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.+".contains($0)) })
    }

    /// Path of the script that an interpreter runs, or the name of its module.
    public var script: String? {
        let interpreter = lastComponent(of: executable)
        guard Self.interpreters.contains(where: interpreter.hasPrefix) else { return nil }
        var rest = arguments.dropFirst()
        while let word = rest.popFirst() {
            if word == "-m" { return rest.first }
            // What follows is a program, not the name of one.
            if word == "-c" || word == "-e" { return nil }
            if !word.hasPrefix("-") { return word }
        }
        return nil
    }

    /// With whatever version stands behind them.
    private static let interpreters = ["python", "perl", "ruby", "node", "bash", "dash", "sh"]

    /// The program of `thread`, as proc(5) tells; nil where that cannot be seen. May wait for that program for a while:
    /// its command line lies in its memory.
    public init?(of thread: pid_t) {
        guard let executable = RunningProgram.executable(of: thread) else { return nil }
        self.init(executable: executable, arguments: RunningProgram.arguments(of: thread) ?? [])
    }
}

func lastComponent(of path: String) -> String { path.lastPathName ?? path }
