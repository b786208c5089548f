import Base
import Glibc

/// A program that uses a file, as far as it is known.
public struct Caller: Hashable, Sendable {
    /// Path of its executable.
    public let executable: String
    /// The words of its command line, its own name first; empty if unknown.
    public let arguments: [String]

    public init(executable: String, arguments: [String] = []) {
        self.executable = executable
        self.arguments = arguments
    }

    /// The name for rules and logs: that of the script if an interpreter runs one.
    public var name: String { lastComponent(of: script ?? executable) }

    /// The same for logs, without control characters.
    public var printableName: String {
        String(name.prefix(64).filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.+".contains($0)) })
    }

    /// The path of an interpreter's script, or the name of its module.
    public var script: String? {
        let interpreter = lastComponent(of: executable)
        guard Self.interpreters.contains(where: interpreter.hasPrefix) else { return nil }
        var rest = arguments.dropFirst()
        while let word = rest.popFirst() {
            if word == "-m" { return rest.first }
            // The next word is a program, not a name.
            if word == "-c" || word == "-e" { return nil }
            if !word.hasPrefix("-") { return word }
        }
        return nil
    }

    /// With any version after the name.
    private static let interpreters = ["python", "perl", "ruby", "node", "bash", "dash", "sh"]

    /// Returns the program of `thread` from proc(5), or nil if it is not visible. May wait for that program, because
    /// its command line is in its memory.
    public init?(of thread: pid_t) {
        guard let executable = RunningProgram.executable(of: thread) else { return nil }
        self.init(executable: executable, arguments: RunningProgram.arguments(of: thread) ?? [])
    }
}

func lastComponent(of path: String) -> String { path.lastPathName ?? path }
