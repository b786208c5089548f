import Glibc
import Posix

/// The amount of output beside the result: `--quiet`, default, `--verbose`, or `--verbose` twice.
public enum Verbosity: Int, Comparable, Sendable {
    /// Results and errors only: no progress, no notes.
    case quiet
    case normal
    /// Adds causes of errors and the actions of daemons.
    case verbose
    case debug

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    static let quietOption = Option.flag("quiet", short: "q", "Say nothing but results and errors.")
    static let verboseOption = Option.flag(
        "verbose", short: "v", "Say more, of errors their causes too; twice for everything.")
    /// Accepted by every command.
    static let options: [any OptionDeclaration] = [quietOption, verboseOption]

    /// Returns true if a word is one of these options.
    static func isOption(_ word: String) -> Bool {
        options.contains { option in
            word == "--" + option.name
                || !word.hasPrefix("--") && word.dropFirst().first.map { $0 == option.short } == true
        }
    }

    /// Returns the log level, which the environment variable `PROGRAM_LOG` overrides.
    func logLevel(environment text: String?) -> LogLevel {
        if let level = text.flatMap(LogLevel.init(word:)) { return level }
        return switch self {
        case .quiet: .error
        case .normal: .notice
        case .verbose: .info
        case .debug: .debug
        }
    }
}
