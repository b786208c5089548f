import Base

/// What could not be arranged between the commands of a user and the daemon of a mount.
public typealias DesktopError = CodedError<DesktopErrorCode>

/// What a `DesktopError` says.
public enum DesktopErrorCode: Hashable, Sendable {
    /// The daemon does not answer, or cannot say yet what became of a message, or the other side hung up.
    case noAnswer
    /// The other side said what makes no sense.
    case malformed
    /// The daemon refused; the sentence is its own.
    case refused
    /// It cannot be known whether the core sent it; the sentence is the daemon's own.
    case unsure
    /// The mount is in use; the sentence says by whom.
    case busy
    /// There is no such mount.
    case notMounted
    /// The system refused.
    case system
}

extension DesktopError {
    init(_ error: some DescribedError) { self.init(.system, error.sentence, cause: error) }

    static var hungUp: DesktopError {
        DesktopError(.noAnswer, "The mount's process ended the conversation; try again.")
    }
    static var silent: DesktopError {
        DesktopError(.noAnswer, "The mount's process does not answer; try again.")
    }
    static var malformed: DesktopError {
        DesktopError(.malformed, "The other side does not speak as this version of ChatFS does.")
    }
}
