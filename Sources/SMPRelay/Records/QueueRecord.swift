import Cryptography
import SMP

/// The record of a queue.
struct QueueRecord: Sendable {
    /// The row id.
    let id: Int64
    /// 24 bytes, known only to the recipient.
    let recipientID: [UInt8]
    let senderID: [UInt8]
    /// SubjectPublicKeyInfo.
    let recipientKey: [UInt8]
    /// The key that secures the queue. If nil, any client with the sender's id may send.
    let senderKey: [UInt8]?
    /// nil if the creator gave none, so only the recipient can secure the queue.
    let mode: QueueMode?
    /// The secret of the box around each message.
    let boxSecret: WipedBytes
    /// Whether the queue refuses all messages.
    let isSuspended: Bool
    /// Whether the queue refuses messages until all were fetched.
    let isFull: Bool
    /// The time of the last use or the creation, in seconds since 1970, rounded down.
    let used: Int64
    /// Whether the queue was never used since its creation.
    let isUnused: Bool
}

/// A stored message, encrypted by its sender.
struct StoredMessage: Sendable {
    /// The row id. Messages of a queue are delivered in this order.
    let number: Int64
    /// 24 random bytes, the nonce of its box.
    let id: [UInt8]
    let body: DeliveredBody
}
