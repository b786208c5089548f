import Base
import Cryptography

/// A command of a client at versions 15 to 17. Ids are opaque bytes, keys are SubjectPublicKeyInfo in DER.
public enum Command: Hashable, Sendable {
    /// NEW: creates a queue.
    case new(NewQueue)
    /// SUB: delivers the queue's messages to this connection.
    case subscribe
    /// KEY: the recipient secures the queue with its sender's key.
    case secure(senderKey: [UInt8])
    /// ACK: deletes the delivered message and delivers the next one.
    case acknowledge(messageID: [UInt8])
    /// OFF: the queue accepts no more messages.
    case suspend
    /// DEL: deletes the queue.
    case delete
    /// QUE: returns information about the queue.
    case queueInformation
    /// LSET: sets the data of the queue's short link.
    case linkSet(id: [UInt8], data: LinkBlobs)
    /// LDEL: deletes the queue's short link.
    case linkDelete
    /// SKEY: the sender secures the queue with its own key.
    case senderKey(key: [UInt8])
    /// SEND: adds a message to the queue.
    case send(flags: [UInt8], body: [UInt8])
    /// LKEY: opens a link for one person and secures its queue.
    case linkKey(key: [UInt8])
    /// LGET: opens a link for any number of people.
    case linkGet
    /// PING: checks the connection.
    case ping
    /// PRXY: connects the proxy to another server. The password, if required, is secret.
    case proxy(to: ServerAddress, password: [UInt8]?)
    /// PFWD: a request for the server of such a session, which the proxy cannot read (`ProxiedSession`).
    case proxyForward(version: UInt16, key: [UInt8], box: [UInt8])
    /// RFWD: a forwarded request of a proxy, in a box of both servers (`HandedOn`).
    case relayForward(box: [UInt8])

    /// The parameters of a new queue.
    public struct NewQueue: Hashable, Sendable {
        /// The key that authorises the recipient's commands.
        public var recipientKey: [UInt8]
        /// The X25519 key for the box between server and recipient.
        public var boxKey: [UInt8]
        /// The password for creating queues, if required. Secret.
        public var password: [UInt8]?
        /// Whether the server delivers messages to this connection from now on.
        public var subscribes: Bool
        public var mode: QueueMode?
        /// Data of a short link. Requires a mode.
        public var link: NewLink?

        public init(
            recipientKey: [UInt8], boxKey: [UInt8], password: [UInt8]? = nil, subscribes: Bool = true,
            mode: QueueMode?, link: NewLink? = nil
        ) {
            self.recipientKey = recipientKey
            self.boxKey = boxKey
            self.password = password
            self.subscribes = subscribes
            self.mode = mode
            self.link = link
        }
    }

    /// A short link created with its queue.
    public struct NewLink: Hashable, Sendable {
        /// Chosen by the client for contact queues. For others the server chooses.
        public var id: [UInt8]?
        /// `Command.senderID(of:)` of this command's correlation id.
        public var senderID: [UInt8]
        public var data: LinkBlobs

        public init(id: [UInt8]?, senderID: [UInt8], data: LinkBlobs) {
            self.id = id
            self.senderID = senderID
            self.data = data
        }
    }

    /// Returns the sender's id of a queue that is created with a link.
    public static func senderID(of correlationID: [UInt8]) -> [UInt8] {
        Array(SHA3.hash384(correlationID).prefix(24))
    }
}

/// The two encrypted parts of a short link's data.
public struct LinkBlobs: Hashable, Sendable {
    /// The fixed part, from which the link is derived.
    public var fixed: [UInt8]
    public var user: [UInt8]

    public init(fixed: [UInt8], user: [UInt8]) {
        self.fixed = fixed
        self.user = user
    }
}

extension Command {
    public func encoded(version: UInt16) -> [UInt8] {
        switch self {
        case .new(let queue): Self.word("NEW ") { $0.append(queue, version: version) }
        case .subscribe: Self.word("SUB")
        case .secure(let key): Self.word("KEY ") { $0.append(byteString: key) }
        case .acknowledge(let id): Self.word("ACK ") { $0.append(byteString: id) }
        case .suspend: Self.word("OFF")
        case .delete: Self.word("DEL")
        case .queueInformation: Self.word("QUE")
        case .linkSet(let id, let data):
            Self.word("LSET ") { bytes in
                bytes.append(byteString: id)
                bytes.append(data)
            }
        case .linkDelete: Self.word("LDEL")
        case .senderKey(let key): Self.word("SKEY ") { $0.append(byteString: key) }
        case .send(let flags, let body): Self.word("SEND ") { $0 += flags + [UInt8(ascii: " ")] + body }
        case .linkKey(let key): Self.word("LKEY ") { $0.append(byteString: key) }
        case .linkGet: Self.word("LGET")
        case .ping: Self.word("PING")
        case .proxy(let server, let password):
            Self.word("PRXY ") { bytes in
                bytes.append(server)
                bytes.append(optional: password) { $0.append(byteString: $1) }
            }
        case .proxyForward(let version, let key, let box):
            Self.word("PFWD ") { bytes in
                bytes.append(bigEndian: version)
                bytes.append(byteString: key)
                bytes += box
            }
        case .relayForward(let box): Self.word("RFWD ") { $0 += box }
        }
    }

    private static func word(_ word: String, _ parameters: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var bytes = Array(word.utf8)
        parameters(&bytes)
        return bytes
    }

    /// Reads a command. Returns nil for an unknown or malformed one.
    public init?(decoding bytes: [UInt8], version: UInt16) {
        let word = bytes.prefix { $0 != UInt8(ascii: " ") }
        // One space separates a command from its parameters; a command without parameters has none.
        let hasParameters = word.count < bytes.count
        var reader = ByteReader(Array(bytes.dropFirst(word.count + 1)))
        let read: Command?
        switch (String(decoding: word, as: UTF8.self), hasParameters) {
        case ("SUB", false): read = .subscribe
        case ("OFF", false): read = .suspend
        case ("DEL", false): read = .delete
        case ("QUE", false): read = .queueInformation
        case ("LDEL", false): read = .linkDelete
        case ("LGET", false): read = .linkGet
        case ("PING", false): read = .ping
        case ("NEW", true): read = reader.newQueue(version: version).map { .new($0) }
        case ("KEY", true): read = reader.authorizationKey().map { .secure(senderKey: $0) }
        case ("SKEY", true): read = reader.authorizationKey().map { .senderKey(key: $0) }
        case ("LKEY", true): read = reader.authorizationKey().map { .linkKey(key: $0) }
        case ("ACK", true): read = reader.byteString().map { .acknowledge(messageID: $0) }
        case ("PRXY", true):
            read = reader.serverAddress().flatMap { server in
                reader.optionalByteString().map { .proxy(to: server, password: $0) }
            }
        case ("PFWD", true):
            read = reader.integer(UInt16.self).flatMap { version in
                reader.agreementKey().map { .proxyForward(version: version, key: $0, box: reader.rest()) }
            }
        case ("RFWD", true): read = .relayForward(box: reader.rest())
        case ("LSET", true):
            read = reader.byteString().flatMap { id in reader.linkBlobs().map { .linkSet(id: id, data: $0) } }
        case ("SEND", true):
            let rest = reader.rest()
            guard let space = rest.firstIndex(of: UInt8(ascii: " ")) else { return nil }
            read = .send(flags: Array(rest[..<space]), body: Array(rest[(space + 1)...]))
        default: return nil
        }
        guard let read, reader.remaining == 0 else { return nil }
        self = read
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ queue: Command.NewQueue, version: UInt16) {
        append(byteString: queue.recipientKey)
        append(byteString: queue.boxKey)
        append(optional: queue.password) { $0.append(byteString: $1) }
        append(UInt8(ascii: queue.subscribes ? "S" : "C"))
        append(optional: queue.mode) { bytes, mode in
            bytes.append(mode.letter)
            bytes.append(optional: queue.link) { bytes, link in
                if mode == .contact { bytes.append(byteString: link.id ?? []) }
                bytes.append(byteString: link.senderID)
                bytes.append(link.data)
            }
        }
        // No notifications.
        if version >= SMPVersion.withNotifications { append(UInt8(ascii: "0")) }
    }

    mutating func append(_ blobs: LinkBlobs) {
        append(large: blobs.fixed)
        append(large: blobs.user)
    }
}

extension ByteReader {
    mutating func linkBlobs() -> LinkBlobs? {
        guard let fixed = large(), let user = large() else { return nil }
        return LinkBlobs(fixed: fixed, user: user)
    }

    fileprivate mutating func newQueue(version: UInt16) -> Command.NewQueue? {
        guard let recipientKey = authorizationKey(), let boxKey = agreementKey(),
            let password = optionalByteString(), let subscribes = subscribeMode(),
            let request = optional({ $0.queueRequest() }),
            version < SMPVersion.withNotifications || byte() == UInt8(ascii: "0")
        else { return nil }
        return Command.NewQueue(
            recipientKey: recipientKey, boxKey: boxKey, password: password, subscribes: subscribes,
            mode: request?.mode, link: request?.link)
    }

    private mutating func subscribeMode() -> Bool? {
        switch byte() {
        case UInt8(ascii: "S"): true
        case UInt8(ascii: "C"): false
        default: nil
        }
    }

    private mutating func queueRequest() -> (mode: QueueMode, link: Command.NewLink?)? {
        guard let mode = byte().flatMap({ QueueMode(letter: $0) }),
            let link = optional({ $0.newLink(of: mode) })
        else { return nil }
        return (mode, link)
    }

    private mutating func newLink(of mode: QueueMode) -> Command.NewLink? {
        var id: [UInt8]?
        if mode == .contact {
            guard let read = byteString() else { return nil }
            id = read
        }
        guard let senderID = byteString(), let data = linkBlobs() else { return nil }
        return Command.NewLink(id: id, senderID: senderID, data: data)
    }
}
