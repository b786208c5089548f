import Base

/// What happened to a connection. Each is in the database before anything else is done about it, and comes again with
/// the same number after each start until it was taken (`ConnectionAgent.acknowledge`). Numbers rise and are never
/// given twice, so who stores the last one it has seen sees each exactly once.
public struct AgentEvent: Hashable, Sendable {
    public var number: Int64
    public var connection: ConnectionID
    public var content: Content
    /// Why the application wanted the connection; nil where it did not say, and when the connection is gone.
    public var reason: String?

    public enum Content: Hashable, Sendable {
        /// Somebody asks at an address. The same person may ask again: the application knows that by what is in it.
        case requested(ContactRequestID, information: [UInt8])
        /// The other side was heard of first: who it says it is. What is sent is kept until the connection stands.
        case connecting(information: [UInt8])
        /// Messages can be sent in both directions from now on.
        /// - Parameter information: of the other side, where it was not told before; empty where it was.
        case connected(information: [UInt8])
        case received(ReceivedMessage)
        /// A server has taken the message; whether the other side has, a receipt says.
        case sent(message: Int64)
        /// The other side's program has taken the message.
        case delivered(message: Int64)
        /// The message waits, and is tried again.
        case delayed(message: Int64, FailureReason)
        /// The message was not sent, or nobody knows whether it was, and is not tried again. After `sent` too, when the
        /// other side turns out to have lost its keys before it.
        case messageFailed(message: Int64, FailureReason)
        /// The connection could not be made, and is not tried again: it can be deleted.
        case connectionFailed(FailureReason)
        case conditionChanged(ConnectionCondition)
        /// The connection is deleted here and on its server. The last event of a connection.
        case deleted
    }

    public init(number: Int64, connection: ConnectionID, content: Content, reason: String? = nil) {
        self.number = number
        self.connection = connection
        self.content = content
        self.reason = reason
    }
}

/// A message as the application gets it.
public struct ReceivedMessage: Hashable, Sendable {
    public var body: [UInt8]
    /// When its server got it, by the server's clock.
    public var received: Timestamp
    public var integrity: MessageIntegrity

    public init(body: [UInt8], received: Timestamp, integrity: MessageIntegrity) {
        self.body = body
        self.received = received
        self.integrity = integrity
    }
}

/// Whether a message follows the one before it. None of these holds a message up.
public enum MessageIntegrity: Hashable, Sendable {
    case complete
    /// Messages of the other side with these numbers never came.
    case skipped(ClosedRange<Int64>)
    /// The other side has used a number again, as after a restored backup.
    case numberRepeated
    /// What came before is not what the other side has sent.
    case wrongHash
}

/// Why something did not work.
public enum FailureReason: String, Hashable, Sendable {
    /// The link was used by somebody else, or its owner has deleted it.
    case linkGone
    /// The other side has deleted the connection, or has moved it while this side was away for too long.
    case contactGone
    /// The other side takes nothing out of its queue.
    case queueFull
    /// No server was reached for too long.
    case expired
    /// The server will not take it.
    case refused
    /// The other side's program is of a version that is not known here.
    case incompatible
    /// The connection was deleted first.
    case deleted
    /// The other side could not decrypt it, because one of both had lost its keys.
    case unreadable
    /// The profile was restored from a backup that was made while the connection was.
    case restored
    /// The other side has not given new keys, or not said what it had until then, for too long.
    case withoutKeys
    /// The other side has not answered a confirmation for too long.
    case noAnswer
    /// More than one message can hold.
    case tooLong
    /// The keys for one direction are used up.
    case exhausted

    /// For people.
    public var sentence: String {
        switch self {
        case .linkGone: "The link was used already, or its owner has deleted it."
        case .contactGone: "The contact has deleted this connection."
        case .queueFull: "The contact has not been online for so long that its queue is full."
        case .expired: "The messaging server could not be reached for too long."
        case .refused: "The messaging server does not take this."
        case .incompatible: "The contact's program is of a version that ChatFS does not know."
        case .deleted: "The connection was deleted before this was sent."
        case .restored:
            "The profile was restored from a backup that was made just then: connect with a new link."
        case .unreadable: "The contact could not decrypt this, because keys had been lost: send it again."
        case .withoutKeys: "The contact's program has not answered with new keys for too long."
        case .noAnswer: "The other side has not answered for three weeks: connect with a new link."
        case .tooLong: "This is longer than one message can be."
        case .exhausted:
            "Too many messages went to the contact without an answer: ask for new keys with 'chatfs contact renew'."
        }
    }
}
