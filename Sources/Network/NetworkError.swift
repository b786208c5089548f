import Base
import Glibc

/// A failed, broken or misbehaving connection.
public typealias NetworkError = CodedError<NetworkErrorCode>

/// The kinds of errors, by the caller's reaction: the first group may be retried, the second is permanent.
public enum NetworkErrorCode: Hashable, Sendable {
    /// The host has no address.
    case nameNotFound
    /// No server listens, or the network does not lead there.
    case unreachable
    /// A deadline passed: connecting, handshake, or a request.
    case timeout
    /// The connection ended during an operation, or was closed before.
    case closed
    /// The caller's task was cancelled; the connection is closed.
    case cancelled
    /// All connections or descriptors are in use.
    case exhausted

    /// TLS failed: no common algorithm, a truncated or altered stream.
    case handshake
    /// The peer's certificates do not match the address.
    case identity
    /// The peer violated HTTP/2 or a limit.
    case protocolViolation
    /// The caller's body source or sink threw; see `cause`.
    case body
    /// An unusable certificate, key or address.
    case configuration
    /// The host has no permitted address (`OutboundPolicy`).
    case notAllowed
}

extension NetworkError {
    /// The kernel's codes for exhausted local resources, which are no peer's fault.
    static let exhaustedNumbers: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    /// Whether the same request on a new connection may succeed without a change.
    public var isTemporary: Bool {
        switch code {
        case .nameNotFound, .unreachable, .timeout, .closed, .exhausted: true
        case .cancelled, .handshake, .identity, .protocolViolation, .body, .configuration, .notAllowed: false
        }
    }
}
