import Base
import SMP

/// Content of a numbered message, by its letters.
///
///     H   hello of the older handshake
///     M   application body to the end
///     V   1 to 255 receipts: number Int64 · hash (1-byte length) · information (2-byte length)
///     QC  queue: it has space again
///     QA  1 to 8 of: offered queue · ? the queue that it replaces
///     QK  1 to 8 of: the new queue with the sender's agreement key · the sender's authorization key
///     QU  1 to 8 of: queue · T/F whether it is secured
///     QT  1 to 8 queues
///     E   Int64: number of the last message received with the old keys
enum MessageContent: Hashable, Sendable {
    case hello
    case body([UInt8])
    case receipts([Receipt])
    case queueContinue(QueueLocation)
    case newQueues([NewQueue])
    case queueKeys([QueueKeys])
    case useQueues([QueueUse])
    case queueTest([QueueLocation])
    case ratchetReady(lastReceived: Int64)
    /// Malformed or from a later version; ignored.
    case unknown([UInt8])

    struct Receipt: Hashable, Sendable {
        /// Number given by the sender.
        var number: Int64
        /// SHA-256 of the complete decrypted message.
        var hash: [UInt8]
    }

    struct NewQueue: Hashable, Sendable {
        var queue: OfferedQueue
        var replaces: QueueLocation?
    }

    struct QueueKeys: Hashable, Sendable {
        /// The new queue, with its sender's key in place of the recipient's.
        var queue: ReplyQueue
        var authorizationKey: [UInt8]
    }

    struct QueueUse: Hashable, Sendable {
        var queue: QueueLocation
        var isSecured: Bool
    }

    private static let maxQueues = 8

    var encoded: [UInt8] {
        switch self {
        case .hello: return Self.message("H")
        case .body(let body): return Self.message("M") + body
        case .receipts(let receipts):
            return Self.message("V") { bytes in
                bytes.append(list: receipts) { bytes, receipt in
                    bytes.append(bigEndian: receipt.number)
                    bytes.append(byteString: receipt.hash)
                    bytes.append(large: [])
                }
            }
        case .queueContinue(let queue): return Self.message("QC") { $0.append(queue) }
        case .newQueues(let queues):
            return Self.message("QA") { bytes in
                bytes.append(list: queues) { bytes, new in
                    bytes.append(new.queue)
                    bytes.append(optional: new.replaces) { $0.append($1) }
                }
            }
        case .queueKeys(let queues):
            return Self.message("QK") { bytes in
                bytes.append(list: queues) { bytes, keys in
                    bytes.append(keys.queue)
                    bytes.append(byteString: keys.authorizationKey)
                }
            }
        case .useQueues(let queues):
            return Self.message("QU") { bytes in
                bytes.append(list: queues) { bytes, use in
                    bytes.append(use.queue)
                    bytes.append(bool: use.isSecured)
                }
            }
        case .queueTest(let queues):
            return Self.message("QT") { bytes in bytes.append(list: queues) { $0.append($1) } }
        case .ratchetReady(let number): return Self.message("E") { $0.append(bigEndian: number) }
        case .unknown(let bytes): return bytes
        }
    }

    private static func message(_ letters: String, _ rest: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var bytes = Array(letters.utf8)
        rest(&bytes)
        return bytes
    }

    init(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        let read: MessageContent?
        switch reader.byte() {
        case UInt8(ascii: "H"): read = .hello
        case UInt8(ascii: "M"): read = .body(reader.rest())
        case UInt8(ascii: "V"): read = reader.list { $0.receipt() }.map { .receipts($0) }
        case UInt8(ascii: "E"): read = reader.integer(Int64.self).map { .ratchetReady(lastReceived: $0) }
        case UInt8(ascii: "Q"): read = reader.queueMessage()
        default: read = nil
        }
        self = reader.remaining == 0 ? read ?? .unknown(bytes) : .unknown(bytes)
    }

    fileprivate static func limited<Value>(_ queues: [Value]?) -> [Value]? {
        queues.flatMap { $0.count <= maxQueues ? $0 : nil }
    }
}

/// A queue's address for its sender, without the key.
struct QueueLocation: Hashable, Sendable {
    var server: ServerAddress
    /// 1 to 255 bytes.
    var senderID: [UInt8]

    /// Whether this location and the address denote the same queue. Host names are not compared.
    func isPlace(of address: QueueAddress) -> Bool {
        server.fingerprint == address.server.fingerprint && senderID == address.senderID
    }
}

extension QueueAddress {
    var location: QueueLocation { QueueLocation(server: server, senderID: senderID) }
}

extension [UInt8] {
    fileprivate mutating func append(_ queue: QueueLocation) {
        append(queue.server)
        append(byteString: queue.senderID)
    }
}

extension ByteReader {
    fileprivate mutating func receipt() -> MessageContent.Receipt? {
        guard let number = integer(Int64.self), let hash = byteString(), large() != nil else { return nil }
        return MessageContent.Receipt(number: number, hash: hash)
    }

    fileprivate mutating func queueMessage() -> MessageContent? {
        switch byte() {
        case UInt8(ascii: "C"): queueLocation().map { .queueContinue($0) }
        case UInt8(ascii: "A"): MessageContent.limited(list { $0.newQueue() }).map { .newQueues($0) }
        case UInt8(ascii: "K"): MessageContent.limited(list { $0.queueKeys() }).map { .queueKeys($0) }
        case UInt8(ascii: "U"): MessageContent.limited(list { $0.queueUse() }).map { .useQueues($0) }
        case UInt8(ascii: "T"): MessageContent.limited(list { $0.queueLocation() }).map { .queueTest($0) }
        default: nil
        }
    }

    private mutating func queueLocation() -> QueueLocation? {
        guard let server = serverAddress(), let senderID = byteString(), !senderID.isEmpty else {
            return nil
        }
        return QueueLocation(server: server, senderID: senderID)
    }

    private mutating func newQueue() -> MessageContent.NewQueue? {
        guard let queue = offeredQueue(), let replaces = optional({ $0.queueLocation() }) else { return nil }
        return MessageContent.NewQueue(queue: queue, replaces: replaces)
    }

    private mutating func queueKeys() -> MessageContent.QueueKeys? {
        guard let queue = replyQueue(), let key = authorizationKey() else { return nil }
        return MessageContent.QueueKeys(queue: queue, authorizationKey: key)
    }

    private mutating func queueUse() -> MessageContent.QueueUse? {
        guard let queue = queueLocation(), let isSecured = bool() else { return nil }
        return MessageContent.QueueUse(queue: queue, isSecured: isSecured)
    }
}
