import Base

/// What can go wrong with a description, a link, a relay or a transfer.
public typealias XFTPError = CodedError<XFTPErrorCode>

/// By consequence: who reads or sends a file decides by it what to do next.
public enum XFTPErrorCode: Hashable, Sendable {
    /// A file description or link that makes no sense.
    case malformedDescription
    /// The relay does not prove to be the one the address names.
    case wrongIdentity
    /// The relay answered something that the protocol does not know at this place.
    case protocolViolation
    /// The relay refused, with its own word.
    case relay(XFTPProtocolError)
    /// A digest, tag or length is wrong: of a chunk, of the header, of the whole file.
    case damaged
    /// No connection, or it broke.
    case unreachable
    case timedOut
    /// The address may not be contacted: loopback, private or link-local, and not configured.
    case relayNotAllowed
    /// No relay was given to send to.
    case noRelay
    case tooLarge
    /// The file that is being sent could not be read, or changed meanwhile.
    case source
    /// The received bytes could not be written; the cause tells whether the disk is full.
    case storage
    /// An upload or download to be resumed belongs to another file.
    case wrongState
    case cancelled
}

extension XFTPError {
    /// Whether the same request may succeed later. What a relay refuses for good, a wrong digest or
    /// a description without sense stay as they are.
    public var isTemporary: Bool {
        switch code {
        case .unreachable, .timedOut: true
        case .relay(let error): error.isTemporary
        default: false
        }
    }
}
