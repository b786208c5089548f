import Base

/// An error between a command and the daemon of a mount.
public typealias DesktopError = CodedError<DesktopErrorCode>

/// The kinds of `DesktopError`.
public enum DesktopErrorCode: Hashable, Sendable {
    /// The daemon does not reply, does not know a message's outcome yet, or the peer hung up.
    case noAnswer
    /// The peer sent an invalid message.
    case malformed
    /// Refused by the daemon, with its sentence.
    case refused
    /// The core may or may not have sent the message; the sentence is the daemon's.
    case unsure
    /// The mount is in use; the sentence names the processes.
    case busy
    /// No such mount.
    case notMounted
    /// A system call failed.
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
