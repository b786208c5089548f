import Base
import Cryptography

/// What a queue is for.
public enum QueueMode: Hashable, Sendable {
    /// One sender, who may secure it with a key of its own.
    case messaging
    /// Anybody sends, and nobody can secure it: a contact address. Also where a queue says nothing of its mode.
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

/// Where a queue is, for its sender: the server, the sender's id, and the key of the recipient with which messages are
/// boxed.
public struct QueueAddress: Hashable, Sendable {
    public var server: ServerAddress
    /// 1 to 255 bytes, in practice 24.
    public var senderID: [UInt8]
    /// SubjectPublicKeyInfo of an X25519 key.
    public var key: [UInt8]
    public var mode: QueueMode

    /// nil when the id or the key is none.
    public init?(server: ServerAddress, senderID: [UInt8], key: [UInt8], mode: QueueMode) {
        guard (1...255).contains(senderID.count), PublicKeys.isAgreement(key) else { return nil }
        self.server = server
        self.senderID = senderID
        self.key = key
        self.mode = mode
    }
}

/// A queue as it is offered, in links and when it moves: with all versions that its owner knows.
public struct OfferedQueue: Hashable, Sendable {
    public var versions: ClosedRange<UInt16>
    public var address: QueueAddress

    /// From this lowest version on the mode is written as such; older readers look for whether the sender may secure it.
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

    /// Reads the text form, or nil when it is none.
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

/// A queue as it is used, which is said in the version that both sides have agreed on.
public struct ReplyQueue: Hashable, Sendable {
    public var version: UInt16
    public var address: QueueAddress

    public init(version: UInt16, address: QueueAddress) {
        self.version = version
        self.address = address
    }
}

extension ByteReader {
    /// A queue as it is offered, with all versions of its owner.
    public mutating func offeredQueue() -> OfferedQueue? {
        guard let versions = versions(), let address = queueAddress() else { return nil }
        return OfferedQueue(versions: versions, address: address)
    }

    /// A queue that a joiner wants its answers in, or that has moved.
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

    /// The mode behind a queue, which may be missing: nothing that follows a queue begins with one of its letters.
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
