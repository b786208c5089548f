import Base

/// What a connection, a link or a server refuses.
public typealias AgentError = CodedError<AgentErrorCode>

/// By what the caller does about it.
public enum AgentErrorCode: Hashable, Sendable {
    /// There is no such connection (any more).
    case noSuchConnection
    /// There is no such request, or it was rejected.
    case noSuchRequest
    /// A link that is none, or is of a kind or version that is not known here.
    case unusableLink
    /// Somebody has used the link, or its owner has deleted it.
    case linkGone
    /// What is asked makes no sense with this connection at this moment.
    case notPossible
    /// The other side has deleted the connection, or this side is doing so.
    case ended
    /// More than one message, or a link, can hold.
    case tooLong
    /// No server could be asked. The same may work later.
    case serverUnreachable
    /// The server refused, and will do so again.
    case serverRefused
    /// What is stored of this connection cannot be used, and never will be; others are as they were.
    case damaged
    /// The database could not be read or written.
    case store
    /// The agent was stopped.
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
        "What is stored of this connection is damaged: import an archive of before, or delete the contact and connect "
            + "again.")

    static func notPossible(_ sentence: String) -> AgentError { AgentError(.notPossible, sentence) }
}
