import Base
import Posix

/// A keyring that gave or took nothing.
public typealias KeyringError = CodedError<KeyringErrorCode>

public enum KeyringErrorCode: Hashable, Sendable {
    /// There is no session bus, no libsecret, or no service that keeps secrets.
    case absent
    /// Its user did not unlock it.
    case locked
    /// It took longer than it may.
    case silent
    /// It refused, or what it gave is no key of ours.
    case refused
    /// The process that asks could not be started; `cause` is a `SystemError`.
    case process
}

extension KeyringError {
    public static let absent = KeyringError(
        .absent,
        "There is no keyring: it needs a desktop session with a service for secrets, and libsecret-1-0.")
    static let locked = KeyringError(
        .locked, "The keyring is locked: unlock it, for example by logging in again, and try again.")
    static let silent = KeyringError(
        .silent, "The keyring does not answer: look whether it waits for you, and try again.")
    static let refused = KeyringError(
        .refused, "The keyring refused, or holds something else under this name.")

    init(_ error: SystemError) { self.init(.process, error.sentence, cause: error) }
}
