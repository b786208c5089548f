import Base

/// An error of a messaging server, a queue or a link.
public typealias SMPError = CodedError<SMPErrorCode>

/// The kinds of errors, by the caller's reaction.
public enum SMPErrorCode: Hashable, Sendable {
    /// A malformed link, address or link data.
    case malformedLink
    /// A link of a kind or version that this program does not support.
    case unsupportedLink
    /// The data of a link does not match the link.
    case wrongLinkData
    /// The server's identity is not the one in the address.
    case wrongIdentity
    /// No version of the server is supported here.
    case unsupportedVersion
    /// Bytes that violate the protocol. If they came from a connection, close it.
    case malformed
    /// A box for other keys, or changed in transit.
    case notAuthentic
    /// More data than fits into a block, a message or a link.
    case tooLong
    /// A refusal of the server, with its error.
    case server(ServerError)
    /// No connection could be made; nothing was sent.
    case unreachable
    /// The server is in this machine's own network and was not chosen by the user, or its peer named too many servers.
    /// Nothing was sent.
    case notAllowed
    /// No answer in time. The server may have performed the request.
    case timedOut
    /// The connection ended before the answer. The server may have performed the request.
    case disconnected
}

extension SMPError {
    static let malformed = SMPError(.malformed, "The messaging server sent invalid data.")
    static let notAuthentic = SMPError(
        .notAuthentic, "A message was damaged on its way, or is not for this profile.")
    static let malformedLink = SMPError(
        .malformedLink, "This is no SimpleX link, or it was cut off when it was copied.")

    /// Wraps a refusal in a sentence.
    public init(_ error: ServerError) { self.init(.server(error), error.sentence) }
}
