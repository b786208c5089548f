import Base

/// What a step of a connection has to have done besides its new state, in the same transaction.
enum Effect: Hashable, Sendable {
    case tell(AgentEvent.Content)
    /// A message for the application, with what a receipt says of it.
    case deliver(ReceivedMessage, number: Int64, hash: [UInt8])
    case send(Outgoing)
    /// The other side has this message of ours.
    case delivered(MessageContent.Receipt)
    /// The other side has everything of ours until this number, and nothing that comes after it.
    case lost(after: Int64)
    /// What was encrypted and not taken by a server is encrypted anew, when it is known that it did not come.
    case encryptAgain
    /// New keys that were not taken by a server are not sent any more: others take their place.
    case replaceKeys
    /// The other side knows of this one: what introduces it needs not be sent any more.
    case introduced
    /// Nothing that waits is sent any more.
    case failWaiting(FailureReason)
    /// What waits for capacity is tried again.
    case tryAgain
    /// Somebody asks at this address.
    case request(link: String, information: [UInt8])
    /// This ciphertext was processed.
    case remember(hash: [UInt8])
}

/// Something that is to be sent.
struct Outgoing: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable, CaseIterable {
        /// To an address. The content is who asks.
        case request
        /// The first message of this side. The content is who it is.
        case confirmation
        /// New keys. The content is their public half.
        case keys
        /// Anything with a number. The content is a `MessageContent`.
        case message
    }

    var kind: Kind
    var content: [UInt8]
    /// Whether the other side's device is woken.
    var notifies: Bool
    /// Whether it goes before everything that is not.
    var isUrgent = false

    /// Who this side is, which goes before what it has to say.
    static func introduction(_ kind: Kind, _ information: [UInt8]) -> Outgoing {
        Outgoing(kind: kind, content: information, notifies: true, isUrgent: true)
    }

    static func message(_ content: MessageContent, notifies: Bool = false, isUrgent: Bool = false) -> Outgoing
    {
        Outgoing(kind: .message, content: content.encoded, notifies: notifies, isUrgent: isUrgent)
    }
}

/// What is sent, once and for all: the same bytes however often.
struct PreparedEnvelope: Hashable, Sendable {
    /// 0 of a request, which has none.
    var number: Int64
    /// Of the message as it was before it was encrypted; empty where there is no receipt of it.
    var hash: [UInt8]
    var envelope: [UInt8]
    /// 24 bytes, of the queue's box.
    var nonce: [UInt8]
}
