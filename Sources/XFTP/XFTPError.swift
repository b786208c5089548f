import Base

/// An error of a description, link, relay or transfer.
public typealias XFTPError = CodedError<XFTPErrorCode>

/// The errors, by the caller's reaction.
public enum XFTPErrorCode: Hashable, Sendable {
    /// A file description or link is invalid.
    case malformedDescription
    /// The relay did not prove its identity.
    case wrongIdentity
    /// The relay's response is invalid or unexpected.
    case protocolViolation
    /// The relay refused with this error.
    case relay(XFTPProtocolError)
    /// A digest, tag or length of a chunk, header or file is wrong.
    case damaged
    /// No connection could be made, or it broke.
    case unreachable
    case timedOut
    /// The outbound policy forbids the address: loopback, private or link-local, and not configured.
    case relayNotAllowed
    /// No relay is configured to upload to.
    case noRelay
    case tooLarge
    /// The file being sent could not be read, or changed meanwhile.
    case source
    /// The received bytes could not be written. The cause tells whether the disk is full.
    case storage
    /// The saved state belongs to another file.
    case wrongState
    case cancelled
}

extension XFTPError {
    /// Whether a retry of the same request may succeed.
    public var isTemporary: Bool {
        switch code {
        case .unreachable, .timedOut: true
        case .relay(let error): error.isTemporary
        default: false
        }
    }
}
