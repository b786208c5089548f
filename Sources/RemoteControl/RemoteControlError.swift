import Base

/// A phone's session that could not be begun, broke, or said what it must not.
public typealias RemoteControlError = CodedError<RemoteControlErrorCode>

/// By what the caller can do.
public enum RemoteControlErrorCode: Hashable, Sendable {
    /// Bytes from the phone that are not what the protocol has there.
    case malformed
    /// A box or attachment whose tag, or whose session, is another one.
    case notAuthentic
    /// The phone's app, or its protocol, is older or newer than the ranges that were offered.
    case incompatible
    /// Another phone than the one of this pairing.
    case identity
    /// More than a limit allows: numbers of messages, bytes of an answer.
    case limit
    /// A link, name or address that cannot be made.
    case configuration
    /// The connection ended, or the phone gave a request up: it is not known what the phone did.
    case closed
    /// The phone was silent for too long: the same.
    case timeout
    /// The caller's task was cancelled: the same.
    case cancelled
    /// The phone could not take a request (`PhoneFailure`), or refused it: it has not done it.
    case refused
    /// A command that is in no row of the allow-list. Nothing was sent.
    case notAllowed
}
