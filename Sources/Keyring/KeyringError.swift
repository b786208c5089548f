import Base
import Posix

/// A failed operation of the keyring.
public typealias KeyringError = CodedError<KeyringErrorCode>

public enum KeyringErrorCode: Hashable, Sendable {
    /// No session bus, no libsecret, or no service for secrets.
    case absent
    /// The user did not unlock it.
    case locked
    /// It exceeded the time limit.
    case silent
    /// It refused, or its value is not a key.
    case refused
    /// The helper process could not be started; `cause` is a `SystemError`.
    case process
}

extension KeyringError {
    public static let absent = KeyringError(
        .absent,
        "There is no keyring: it needs a desktop session with a service for secrets, and libsecret-1-0.")
    static let locked = KeyringError(
        .locked, "The keyring is locked: unlock it, for example by logging in again, and try again.")
    static let silent = KeyringError(
        .silent, "The keyring does not answer. Check whether it shows a prompt, and try again.")
    static let refused = KeyringError(
        .refused, "The keyring refused, or has another value under this name.")

    init(_ error: SystemError) { self.init(.process, error.sentence, cause: error) }
}
