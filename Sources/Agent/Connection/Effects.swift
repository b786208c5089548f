/// An effect of a step, stored in the same transaction as the new state.
enum Effect: Hashable, Sendable {
    case tell(AgentEvent.Content)
    /// A message for the application, with the number and hash for its receipt.
    case deliver(ReceivedMessage, number: Int64, hash: [UInt8])
    case send(Outgoing)
    /// A receipt: the peer has received this message of ours.
    case delivered(MessageContent.Receipt)
    /// The peer has all our messages up to this number and none after it.
    case lost(after: Int64)
    /// Encrypt again all messages that no server has accepted, once they are known not to have arrived.
    case encryptAgain
    /// Drop new keys that no server has accepted yet; others replace them.
    case replaceKeys
    /// Drop unsent introductions: the peer has already answered.
    case introduced
    /// Fail all waiting messages.
    case failWaiting(FailureReason)
    /// Retry messages that wait for space in the peer's queue.
    case tryAgain
    /// A contact request came to this address.
    case request(link: String, information: [UInt8])
    /// This ciphertext was processed.
    case remember(hash: [UInt8])
}

/// A message to send.
struct Outgoing: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Request to an address (`I`). The content is the requester's connection information.
        case request
        /// This side's confirmation (`C`). The content is its connection information.
        case confirmation
        /// New ratchet keys (`R`). The content is their public half.
        case keys
        /// A numbered message (`M`). The content is a `MessageContent`.
        case message
    }

    var kind: Kind
    var content: [UInt8]
    /// Whether the server may send a push notification to the peer.
    var notifies: Bool
    /// Whether it overtakes messages that are not urgent.
    var isUrgent = false

    /// A handshake message with this side's information, ahead of all other messages.
    static func introduction(_ kind: Kind, _ information: [UInt8]) -> Outgoing {
        Outgoing(kind: kind, content: information, notifies: true, isUrgent: true)
    }

    static func message(_ content: MessageContent, notifies: Bool = false, isUrgent: Bool = false) -> Outgoing
    {
        Outgoing(kind: .message, content: content.encoded, notifies: notifies, isUrgent: isUrgent)
    }
}

/// An encrypted message. Each retry sends the same bytes.
struct PreparedEnvelope: Hashable, Sendable {
    /// 0 for a request.
    var number: Int64
    /// SHA-256 of the plaintext; empty for messages without receipts.
    var hash: [UInt8]
    var envelope: [UInt8]
    /// Nonce of the queue's box, 24 bytes.
    var nonce: [UInt8]
}
