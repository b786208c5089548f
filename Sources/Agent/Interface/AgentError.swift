import Base

/// An error of a connection, link or server.
public typealias AgentError = CodedError<AgentErrorCode>

/// Codes by the caller's next action.
public enum AgentErrorCode: Hashable, Sendable {
    /// The connection does not exist (any more).
    case noSuchConnection
    /// The request does not exist, or was rejected.
    case noSuchRequest
    /// Not a link, or of an unknown kind or version.
    case unusableLink
    /// The link was used or deleted.
    case linkGone
    /// The connection's state does not allow the operation.
    case notPossible
    /// The peer has deleted the connection, or this side is deleting it.
    case ended
    /// Exceeds the size of a message or link.
    case tooLong
    /// No server was reachable. A retry may succeed.
    case serverUnreachable
    /// The server refused. A retry will not succeed.
    case serverRefused
    /// The stored connection is unusable for good. Other connections are unaffected.
    case damaged
    /// The database could not be read or written.
    case store
    /// The agent has stopped.
    case stopped
}

extension AgentError {
    static let noSuchConnection = AgentError(.noSuchConnection, "There is no such connection any more.")
    static let noSuchRequest = AgentError(.noSuchRequest, "There is no such contact request any more.")
    static let ended = AgentError(
        .ended, "The contact has deleted this connection, so nothing can be sent to it.")
    static let notMade = AgentError(
        .ended, "The connection with this contact could not be made, so nothing can be sent to it.")
    static let beingDeleted = AgentError(
        .ended, "This connection is being deleted, so nothing can be sent to it.")
    static let stopped = AgentError(.stopped, "The connections of this profile are closed.")
    static let tooLong = AgentError(.tooLong, "The message is too long to be sent as one.")
    static let noOtherServer = AgentError(
        .notPossible,
        "There is no other messaging server in the settings to move to: 'chatfs relay add' gives one.")
    static let damagedState = AgentError(
        .damaged,
        "The stored data of this connection is damaged: restore an older archive, or delete the contact and connect again."
    )

    static func notPossible(_ sentence: String) -> AgentError { AgentError(.notPossible, sentence) }
}
