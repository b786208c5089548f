import Base

/// A failed or broken session with a phone, or a violation of its protocol.
public typealias RemoteControlError = CodedError<RemoteControlErrorCode>

/// The kinds of errors, by the caller's reaction.
public enum RemoteControlErrorCode: Hashable, Sendable {
    /// Bytes of the phone that violate the protocol.
    case malformed
    /// A box or attachment with a wrong tag or of another session.
    case notAuthentic
    /// The phone's app or protocol is outside the offered versions.
    case incompatible
    /// The phone is not the one of this pairing.
    case identity
    /// More messages or bytes than a limit permits.
    case limit
    /// An invalid link, name or address.
    case configuration
    /// The connection ended, or the phone gave up a request, which it may have performed.
    case closed
    /// The phone was silent for too long. It may have performed the request.
    case timeout
    /// The caller's task was cancelled. The phone may have performed the request.
    case cancelled
    /// The phone refused a request or could not perform it (`PhoneFailure`).
    case refused
    /// The command matches no row of the allow-list. Nothing was sent.
    case notAllowed
}
