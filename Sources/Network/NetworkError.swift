import Base
import Glibc

/// A connection that could not be made, broke, or answered what it must not.
public typealias NetworkError = CodedError<NetworkErrorCode>

/// By what the caller can do: the first group may be tried again, the second will not get better.
public enum NetworkErrorCode: Hashable, Sendable {
    /// The host has no address.
    case nameNotFound
    /// Nobody listens, or the network does not lead there.
    case unreachable
    /// A deadline passed: connecting, handshake, or a request.
    case timeout
    /// The connection ended while something was under way, or was closed before.
    case closed
    /// The caller's task was cancelled; the connection is closed.
    case cancelled
    /// All connections or descriptors are in use.
    case exhausted

    /// TLS failed: no common algorithm, a truncated or altered stream.
    case handshake
    /// The peer's certificates are not those of the address.
    case identity
    /// The peer broke HTTP/2, or went over a limit.
    case protocolViolation
    /// The body source or sink of the caller threw; see `cause`.
    case body
    /// A certificate, key or address that cannot be used.
    case configuration
    /// The host leads to addresses alone that may not be reached (`OutboundPolicy`).
    case notAllowed
}

extension NetworkError {
    /// What the kernel says when this machine has no descriptor or memory: it says nothing of any peer.
    static let exhaustedNumbers: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    /// Whether the same request on a new connection may succeed without anybody doing anything.
    public var isTemporary: Bool {
        switch code {
        case .nameNotFound, .unreachable, .timeout, .closed, .exhausted: true
        case .cancelled, .handshake, .identity, .protocolViolation, .body, .configuration, .notAllowed: false
        }
    }
}
