import Cryptography
import SMP

/// What the relay knows about one queue.
struct QueueRecord: Sendable {
    /// Of its row.
    let id: Int64
    /// 24 bytes, known to the recipient alone.
    let recipientID: [UInt8]
    let senderID: [UInt8]
    /// SubjectPublicKeyInfo.
    let recipientKey: [UInt8]
    /// nil: everybody who knows the sender's id may send.
    let senderKey: [UInt8]?
    /// nil: nothing was said of it, so it is secured by its recipient alone.
    let mode: QueueMode?
    /// Of the box around each message.
    let boxSecret: WipedBytes
    /// Takes no messages any more.
    let isSuspended: Bool
    /// Takes none until all were fetched.
    let isFull: Bool
    /// When it was used or made last, seconds since 1970, rounded down.
    let used: Int64
    /// Nobody has asked anything of it since it was made.
    let isUnused: Bool
}

/// A message as it lies in its queue: what was sent, which nobody here can read.
struct StoredMessage: Sendable {
    /// Of its row; messages of a queue are delivered in this order.
    let number: Int64
    /// 24 random bytes, the nonce of its box.
    let id: [UInt8]
    let body: DeliveredBody
}

/// How a mode is written in the database.
enum StoredMode: String {
    case messaging
    case contact

    init(_ mode: QueueMode) { self = mode == .messaging ? .messaging : .contact }

    var mode: QueueMode { self == .messaging ? .messaging : .contact }
}
