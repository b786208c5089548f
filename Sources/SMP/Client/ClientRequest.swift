import Base

/// What is asked of a server on one connection.
public struct ClientRequest: Sendable {
    public var command: Command
    /// The recipient's, sender's or link's id; empty where a command is about none.
    public var entityID: [UInt8]
    /// nil where a command is not authorised.
    public var key: CommandKey?
    /// How long to wait for the answer: 10 s while somebody watches, 30 s otherwise.
    public var timeout: Duration
    /// 24 random bytes that no other request has. Only a command that is made of it brings its own (`Command.senderID`).
    public var correlationID: [UInt8]?
    /// Who named the server; nil: the user. What one peer causes is limited.
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

    /// Which request of its connection an event is about.
    public struct ID: Hashable, Sendable {
        let number: UInt64
    }
}

/// What a connection tells of.
public enum ClientEvent: Sendable, Equatable {
    /// One for each request that did not fail. A refusal is an answer too.
    case answered(ClientRequest.ID, Answer)
    /// No answer: it came in no time, made no sense, or the connection ended. What was asked may have happened.
    case failed(ClientRequest.ID, SMPErrorCode)
    /// A message of a queue that was subscribed to. It comes again until it is acknowledged.
    case delivered(recipientID: [UInt8], messageID: [UInt8], body: [UInt8])
    /// Another connection has subscribed: not to be fought for.
    case ended(recipientID: [UInt8])
    case deleted(recipientID: [UInt8])
    /// The server refused something and does not say what.
    case complaint(ServerError)
    /// Nothing more comes, and nothing can be asked: the connection is to be closed. Always the last one.
    case closed(SMPErrorCode)
}
