import Base

/// How the program ended, for scripts. Thrown by a command's work, it ends the program silently.
public struct ExitCode: Error, Hashable, Sendable {
    public let value: Int32

    public init(_ value: Int32) { self.value = value }

    /// Done.
    public static let success = ExitCode(0)
    /// It did not work; one line on standard error says why.
    public static let failure = ExitCode(1)
    /// The command line was wrong, or nobody could be asked (EX_USAGE of sysexits.h); nothing was done.
    public static let usage = ExitCode(64)
    /// What is to be used is locked, and only somebody can change that (EX_NOPERM): who starts it again by itself would
    /// ask the same question again.
    public static let locked = ExitCode(77)

    /// The table of the man page.
    static let meanings: [(code: String, meaning: String)] = [
        ("0", "Done."),
        ("1", "It did not work, or not for all that was named; a line on standard error says why."),
        (
            "64",
            "The command line is wrong, or needs an answer and there is no terminal to ask for it; nothing was done."
        ),
        ("77", "The data could not be unlocked, of 'chatfs mount': nothing is to be tried again by itself."),
        ("128+N", "Ended by signal N before it was done: 130 after Ctrl-C, 143 after SIGTERM."),
    ]
}

/// Nothing was done, and nothing is wrong with the command line: a question was answered with no, or what was named is
/// not in a state in which it could be done. Ends with `ExitCode.failure`.
public struct Refusal: DescribedError, Equatable {
    public let sentence: String
    public var cause: (any Error)? { nil }

    public init(_ sentence: String) { self.sentence = sentence }
}

/// An error that ends the program with a code of its own.
public struct CodedEnding: Error {
    let error: any Error
    let code: ExitCode

    public init(_ error: any Error, _ code: ExitCode) { (self.error, self.code) = (error, code) }
}

/// A command line that cannot be understood.
public struct UsageError: DescribedError, Equatable {
    /// What is wrong, without the name of the command, without a full stop.
    public let sentence: String
    public var cause: (any Error)? { nil }

    public init(_ sentence: String) { self.sentence = sentence }
}
