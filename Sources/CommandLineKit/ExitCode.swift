import Base

/// The exit code of the program. Thrown by a command, it ends the program silently.
public struct ExitCode: Error, Hashable, Sendable {
    public let value: Int32

    public init(_ value: Int32) { self.value = value }

    /// Success.
    public static let success = ExitCode(0)
    /// Failure; one line on standard error tells why.
    public static let failure = ExitCode(1)
    /// Invalid command line, or no terminal for a question (EX_USAGE of sysexits.h); nothing was done.
    public static let usage = ExitCode(64)
    /// The data is locked and only the user can unlock it (EX_NOPERM), so an automatic restart is useless.
    public static let locked = ExitCode(77)

    /// The table of the manual page.
    static let meanings: [(code: String, meaning: String)] = [
        ("0", "Done."),
        ("1", "Failed, or not done for all arguments; a line on standard error gives the reason."),
        ("64", "Wrong command line, or no terminal for a question; nothing was done."),
        ("77", "Only of 'chatfs mount': the data could not be unlocked without the user."),
        ("128+N", "Ended by signal N before it was done: 130 after Ctrl-C, 143 after SIGTERM."),
    ]
}

/// The command did nothing although the command line is valid: a question was answered with no, or the state does not
/// permit the action. Exits with `ExitCode.failure`.
public struct Refusal: DescribedError, Equatable {
    public let sentence: String
    public var cause: (any Error)? { nil }

    public init(_ sentence: String) { self.sentence = sentence }
}

/// An error with an exit code of its own.
public struct CodedEnding: Error {
    let error: any Error
    let code: ExitCode

    public init(_ error: any Error, _ code: ExitCode) { (self.error, self.code) = (error, code) }
}

/// An invalid command line.
public struct UsageError: DescribedError, Equatable {
    /// The reason, without the command's name and without a full stop.
    public let sentence: String
    public var cause: (any Error)? { nil }

    public init(_ sentence: String) { self.sentence = sentence }
}
