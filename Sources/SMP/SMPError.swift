import Base

/// What can go wrong with a messaging server, a queue or a link.
public typealias SMPError = CodedError<SMPErrorCode>

/// By what the caller does about it.
public enum SMPErrorCode: Hashable, Sendable {
    /// A link, an address or its data that make no sense.
    case malformedLink
    /// A link of a kind or version that this program does not open.
    case unsupportedLink
    /// What a link leads to is not what was promised when it was made.
    case wrongLinkData
    /// The server does not prove to be the one that the address names.
    case wrongIdentity
    /// The server speaks only versions that this program does not.
    case unsupportedVersion
    /// Bytes that the protocol does not know at this place; of a connection: it has to be closed.
    case malformed
    /// A box that was not made with these keys, or was changed on its way.
    case notAuthentic
    /// More than fits into a block, a message or a link.
    case tooLong
    /// The server refused, with its own word.
    case server(ServerError)
    /// There is no connection, and none could be made: nothing was asked.
    case unreachable
    /// The server is inside this machine or its network, and the user did not choose it; or whoever named it has named too
    /// many: nothing was asked.
    case notAllowed
    /// No answer in time. What was asked may have happened.
    case timedOut
    /// The connection ended before the answer. What was asked may have happened.
    case disconnected
}

extension SMPError {
    static let malformed = SMPError(.malformed, "The messaging server sent something that makes no sense.")
    static let notAuthentic = SMPError(
        .notAuthentic, "A message was damaged on its way, or is not for this profile.")
    static let malformedLink = SMPError(
        .malformedLink, "This is no SimpleX link, or it was cut off when it was copied.")

    /// A refusal, in a sentence.
    public init(_ error: ServerError) { self.init(.server(error), error.sentence) }
}
