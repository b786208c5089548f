import Base

/// A transmission of a server at versions 15 to 17, solicited or not.
public enum Answer: Hashable, Sendable {
    /// IDS: the ids of a new queue.
    case created(QueueIDs)
    /// SOK, or OK of older servers.
    case subscribed
    /// OK: the command was performed.
    case ok
    /// MSG: a message of the queue, in the server's box.
    case message(id: [UInt8], body: [UInt8])
    /// LNK: the data of a short link.
    case link(senderID: [UInt8], data: LinkBlobs)
    /// INFO: JSON about a queue.
    case information([UInt8])
    /// END: another connection has subscribed to this queue.
    case end
    /// DELD: another connection has deleted this queue.
    case deleted
    /// PONG
    case pong
    /// PKEY: the proxy's session with another server.
    case proxyOpened(ProxiedServer)
    /// PRES: the other server's answer, which the proxy cannot read.
    case forwarded(box: [UInt8])
    /// RRES: the answer to a forwarded request, in a box of both servers.
    case handedOn(box: [UInt8])
    /// ERR
    case error(ServerError)
    /// An answer of a later version. It does not end the connection.
    case unknown(word: String)

    /// The ids and key of a new queue.
    public struct QueueIDs: Hashable, Sendable {
        /// 24 bytes, as all ids.
        public var recipientID: [UInt8]
        public var senderID: [UInt8]
        /// The server's X25519 key for the box around each message.
        public var boxKey: [UInt8]
        public var mode: QueueMode?
        public var linkID: [UInt8]?

        public init(
            recipientID: [UInt8], senderID: [UInt8], boxKey: [UInt8], mode: QueueMode?, linkID: [UInt8]? = nil
        ) {
            self.recipientID = recipientID
            self.senderID = senderID
            self.boxKey = boxKey
            self.mode = mode
            self.linkID = linkID
        }
    }

    public func encoded(version: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .created(let ids):
            bytes += Array("IDS ".utf8)
            bytes.append(byteString: ids.recipientID)
            bytes.append(byteString: ids.senderID)
            bytes.append(byteString: ids.boxKey)
            bytes.append(optional: ids.mode) { $0.append($1.letter) }
            bytes.append(optional: ids.linkID) { $0.append(byteString: $1) }
            // Without a service and without notifications.
            if version >= SMPVersion.withServices { bytes.append(UInt8(ascii: "0")) }
            if version >= SMPVersion.withNotifications { bytes.append(UInt8(ascii: "0")) }
        case .subscribed: bytes = Array((version >= SMPVersion.withServices ? "SOK 0" : "OK").utf8)
        case .ok: bytes = Array("OK".utf8)
        case .message(let id, let body):
            bytes += Array("MSG ".utf8)
            bytes.append(byteString: id)
            bytes += body
        case .link(let senderID, let data):
            bytes += Array("LNK ".utf8)
            bytes.append(byteString: senderID)
            bytes.append(data)
        case .information(let json): bytes = Array("INFO ".utf8) + json
        case .end: bytes = Array("END".utf8)
        case .deleted: bytes = Array("DELD".utf8)
        case .pong: bytes = Array("PONG".utf8)
        case .proxyOpened(let server):
            bytes += Array("PKEY ".utf8)
            bytes.append(server)
        case .forwarded(let box): bytes = Array("PRES ".utf8) + box
        case .handedOn(let box): bytes = Array("RRES ".utf8) + box
        case .error(let error): bytes = Array("ERR \(error.text)".utf8)
        case .unknown(let word): bytes = Array(word.utf8)
        }
        return bytes
    }

    /// Reads an answer. Returns nil if a known answer has invalid parameters.
    public init?(decoding bytes: [UInt8], version: UInt16) {
        let word = bytes.prefix { $0 != UInt8(ascii: " ") }
        var reader = ByteReader(Array(bytes.dropFirst(word.count + 1)))
        let read: Answer?
        switch String(decoding: word.prefix(16), as: UTF8.self) {
        case "IDS": read = reader.queueIDs(version: version).map { .created($0) }
        case "SOK": read = reader.service().map { .subscribed }
        case "OK": read = .ok
        case "MSG": read = reader.byteString().map { .message(id: $0, body: reader.rest()) }
        case "LNK":
            read = reader.byteString().flatMap { id in
                reader.linkBlobs().map { .link(senderID: id, data: $0) }
            }
        case "INFO": read = .information(reader.rest())
        case "END": read = .end
        case "DELD": read = .deleted
        case "PONG": read = .pong
        case "PKEY": read = reader.proxiedServer().map { .proxyOpened($0) }
        case "PRES": read = .forwarded(box: reader.rest())
        case "RRES": read = .handedOn(box: reader.rest())
        case "ERR": read = .error(ServerError(reader.rest()))
        default:
            let printable = word.prefix(16).map { (33..<127).contains($0) ? $0 : UInt8(ascii: "?") }
            self = .unknown(word: String(decoding: printable, as: UTF8.self))
            return
        }
        guard let read, reader.remaining == 0 else { return nil }
        self = read
    }
}

extension ByteReader {
    fileprivate mutating func queueIDs(version: UInt16) -> Answer.QueueIDs? {
        guard let recipientID = byteString(), let senderID = byteString(), let boxKey = agreementKey(),
            let mode = optional({ $0.byte().flatMap { QueueMode(letter: $0) } }),
            let linkID = optionalByteString(),
            version < SMPVersion.withServices || service() != nil,
            version < SMPVersion.withNotifications || noNotifications()
        else { return nil }
        return Answer.QueueIDs(
            recipientID: recipientID, senderID: senderID, boxKey: boxKey, mode: mode, linkID: linkID)
    }

    /// Skips the service of the queue. No client here belongs to one.
    fileprivate mutating func service() -> Void? {
        optionalByteString().map { _ in () }
    }

    /// Notifications were not requested.
    private mutating func noNotifications() -> Bool {
        byte() == UInt8(ascii: "0")
    }
}
