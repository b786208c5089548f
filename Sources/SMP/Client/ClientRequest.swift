import Base

/// A command to a server on one connection.
public struct ClientRequest: Sendable {
    public var command: Command
    /// The id of the recipient, sender or link, or empty if the command has none.
    public var entityID: [UInt8]
    /// Nil for a command without authorisation.
    public var key: CommandKey?
    /// The timeout for the answer: 10 s if a user waits, otherwise 30 s.
    public var timeout: Duration
    /// 24 unique random bytes. Only a command that derives an id from it brings its own (`Command.senderID`).
    public var correlationID: [UInt8]?
    /// The peer that named the server, or nil for the user. Connections caused by one peer are limited.
    public var peer: String?

    public static let interactiveTimeout = Duration.seconds(10)
    public static let backgroundTimeout = Duration.seconds(30)

    public init(
        _ command: Command, of entityID: [UInt8] = [], key: CommandKey? = nil,
        timeout: Duration = interactiveTimeout,
        correlationID: [UInt8]? = nil, peer: String? = nil
    ) {
        self.command = command
        self.entityID = entityID
        self.key = key
        self.timeout = timeout
        self.correlationID = correlationID
        self.peer = peer
    }

    /// The number of a request on its connection.
    public struct ID: Hashable, Sendable {
        let number: UInt64
    }
}

/// An event of a connection.
public enum ClientEvent: Sendable, Equatable {
    /// Sent once for each answered request. A refusal is an answer too.
    case answered(ClientRequest.ID, Answer)
    /// The request has no answer: timeout, malformed answer or lost connection. The server may have performed it.
    case failed(ClientRequest.ID, SMPErrorCode)
    /// A message of a subscribed queue. The server repeats it until it is acknowledged.
    case delivered(recipientID: [UInt8], messageID: [UInt8], body: [UInt8])
    /// Another connection subscribed to the queue. Do not subscribe again.
    case ended(recipientID: [UInt8])
    case deleted(recipientID: [UInt8])
    /// The server refused an unidentified command.
    case complaint(ServerError)
    /// The connection is closed. Always the last event.
    case closed(SMPErrorCode)
}
