import Base
import Cryptography

/// The purpose of a queue.
public enum QueueMode: String, Hashable, Sendable {
    /// One sender, which may secure the queue with its own key.
    case messaging
    /// Any number of senders, and no securing: a contact address. Also the mode of queues that state none.
    case contact

    var letter: UInt8 { UInt8(ascii: self == .messaging ? "M" : "C") }

    init?(letter: UInt8) {
        switch letter {
        case UInt8(ascii: "M"): self = .messaging
        case UInt8(ascii: "C"): self = .contact
        default: return nil
        }
    }
}

/// The sender's view of a queue: the server, the sender's id, and the recipient's key for the box around messages.
public struct QueueAddress: Hashable, Sendable {
    public var server: ServerAddress
    /// 1 to 255 bytes, in practice 24.
    public var senderID: [UInt8]
    /// SubjectPublicKeyInfo of an X25519 key.
    public var key: [UInt8]
    public var mode: QueueMode

    /// Returns nil for an invalid id or key.
    public init?(server: ServerAddress, senderID: [UInt8], key: [UInt8], mode: QueueMode) {
        guard (1...255).contains(senderID.count), PublicKeys.isAgreement(key) else { return nil }
        self.server = server
        self.senderID = senderID
        self.key = key
        self.mode = mode
    }
}

/// A queue with all versions of its owner, as offered in links and moves.
public struct OfferedQueue: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    public var address: QueueAddress

    /// The lowest version that writes the mode. Older readers use the flag that the sender may secure the queue.
    fileprivate static let withModes: UInt16 = 4

    public init(versions: ClosedRange<UInt16> = SMPVersion.queues, address: QueueAddress) {
        self.versions = versions
        self.address = address
    }

    public var text: String {
        let mode = address.mode == .messaging ? "q=m" : "q=c"
        let forOldReaders = address.mode == .messaging && versions.lowerBound < Self.withModes ? "&k=s" : ""
        return "\(address.server.text)/\(Base64URL.encode(address.senderID))#/?v=\(versions.text)"
            + "&dh=\(PercentEncoding.encode(Base64URL.encode(address.key)))&\(mode)\(forOldReaders)"
    }

    /// Reads the text form. Returns nil if it is malformed.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 4096,
            let parts = LinkParts(String(text)), let slash = parts.place.lastIndex(of: "/"),
            let server = ServerAddress(parts.place[..<slash]), server.password == nil,
            let senderID = Base64URL.decode(parts.place[parts.place.index(after: slash)...]),
            let versions = parts["v"].flatMap({ ClosedRange<UInt16>(text: $0) }),
            let key = parts["dh"].flatMap({ Base64URL.decode($0) })
        else { return nil }
        let mode: QueueMode
        switch (parts["q"], parts["k"]) {
        case ("m", _), (nil, "s"): mode = .messaging
        case ("c", _), (nil, _): mode = .contact
        default: return nil
        }
        guard let address = QueueAddress(server: server, senderID: senderID, key: key, mode: mode) else {
            return nil
        }
        self.init(versions: versions, address: address)
    }
}

/// A queue in the version that both sides agreed on.
public struct ReplyQueue: Hashable, Sendable {
    public var version: UInt16
    public var address: QueueAddress

    public init(version: UInt16, address: QueueAddress) {
        self.version = version
        self.address = address
    }
}

extension ByteReader {
    /// An offered queue with all versions of its owner.
    public mutating func offeredQueue() -> OfferedQueue? {
        guard let versions = versions(), let address = queueAddress() else { return nil }
        return OfferedQueue(versions: versions, address: address)
    }

    /// The reply queue of a joiner, or a queue after a move.
    public mutating func replyQueue() -> ReplyQueue? {
        guard let version = integer(UInt16.self), SMPVersion.queues.contains(version),
            let address = queueAddress()
        else { return nil }
        return ReplyQueue(version: version, address: address)
    }

    private mutating func queueAddress() -> QueueAddress? {
        guard let server = serverAddress(), let senderID = byteString(), let key = agreementKey() else {
            return nil
        }
        return QueueAddress(server: server, senderID: senderID, key: key, mode: queueMode())
    }

    /// Reads the optional mode after a queue. No field that follows a queue begins with one of its letters.
    private mutating func queueMode() -> QueueMode {
        var ahead = self
        let mode: QueueMode
        switch ahead.byte() {
        case UInt8(ascii: "M"), UInt8(ascii: "T"): mode = .messaging
        case UInt8(ascii: "C"), UInt8(ascii: "F"): mode = .contact
        default: return .contact
        }
        self = ahead
        return mode
    }
}

extension [UInt8] {
    public mutating func append(_ queue: OfferedQueue) {
        append(queue.versions)
        append(queue.address, version: queue.versions.lowerBound)
    }

    public mutating func append(_ queue: ReplyQueue) {
        append(bigEndian: queue.version)
        append(queue.address, version: queue.version)
    }

    private mutating func append(_ address: QueueAddress, version: UInt16) {
        append(address.server)
        append(byteString: address.senderID)
        append(byteString: address.key)
        if version >= OfferedQueue.withModes {
            append(address.mode.letter)
        } else if address.mode == .messaging {
            append(UInt8(ascii: "T"))
        }
    }
}
