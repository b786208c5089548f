import Base

/// An event of a connection. It is stored before it takes effect, and repeated with the same number after
/// each start until it is acknowledged (`ConnectionAgent.acknowledge`). Numbers rise and are never reused, so
/// an application that stores the last number processes each event exactly once.
public struct AgentEvent: Hashable, Sendable {
    public var number: Int64
    public var connection: ConnectionID
    public var content: Content
    /// The reason that the application gave for the connection; nil if none, or if the connection is gone.
    public var reason: String?

    public enum Content: Hashable, Sendable {
        /// A contact request arrived at an address. One person may send several; their content tells.
        case requested(ContactRequestID, information: [UInt8])
        /// The peer's connection information arrived. Messages are kept until the connection is established.
        case connecting(information: [UInt8])
        /// The connection is established in both directions.
        /// - Parameter information: the peer's connection information; empty if an earlier event had it.
        case connected(information: [UInt8])
        case received(ReceivedMessage)
        /// A server has accepted the message. `delivered` follows with the peer's receipt.
        case sent(message: Int64)
        /// The peer's program has received the message.
        case delivered(message: Int64)
        /// The message waits and will be retried.
        case delayed(message: Int64, FailureReason)
        /// The message was not sent, or its delivery is unknown. It will not be retried. May follow `sent` if
        /// the peer lost its keys.
        case messageFailed(message: Int64, FailureReason)
        /// The handshake has failed for good. The connection can be deleted.
        case connectionFailed(FailureReason)
        case conditionChanged(ConnectionCondition)
        /// The connection is deleted here and on its server. Always its last event.
        case deleted
    }

    public init(number: Int64, connection: ConnectionID, content: Content, reason: String? = nil) {
        self.number = number
        self.connection = connection
        self.content = content
        self.reason = reason
    }
}

/// A received message.
public struct ReceivedMessage: Hashable, Sendable {
    public var body: [UInt8]
    /// Time of arrival at the server, by the server's clock.
    public var received: Timestamp
    public var integrity: MessageIntegrity

    public init(body: [UInt8], received: Timestamp, integrity: MessageIntegrity) {
        self.body = body
        self.received = received
        self.integrity = integrity
    }
}

/// Whether a message follows its predecessor. Messages are delivered in any case.
public enum MessageIntegrity: Hashable, Sendable {
    case complete
    /// The peer's messages with these numbers never arrived.
    case skipped(ClosedRange<Int64>)
    /// The peer has reused a number, as after restoring a backup.
    case numberRepeated
    /// The previous message is not the one that the peer sent.
    case wrongHash
}

/// Reason of a failure or delay.
public enum FailureReason: String, Hashable, Sendable {
    /// The link was already used or deleted.
    case linkGone
    /// The peer has deleted the connection, or moved it while this side was away too long.
    case contactGone
    /// The peer does not read its queue.
    case queueFull
    /// No server was reachable in time.
    case expired
    /// The server refuses it.
    case refused
    /// The peer's program has an unknown version.
    case incompatible
    /// The connection was deleted first.
    case deleted
    /// The peer could not decrypt it, because one side had lost its keys.
    case unreadable
    /// The profile was restored from a backup made during the handshake.
    case restored
    /// The peer has not sent new keys, or its last received number, in time.
    case withoutKeys
    /// The peer has not answered a confirmation in time.
    case noAnswer
    /// Exceeds the size of a message.
    case tooLong
    /// The sending chain's keys are used up.
    case exhausted

    /// User-visible sentence.
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
