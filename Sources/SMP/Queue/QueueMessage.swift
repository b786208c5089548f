import Base
import Cryptography

/// The body of SEND: an envelope from the sender of a queue to its recipient, in a box that the server cannot open.
public struct QueueMessage: Hashable, Sendable {
    /// The version agreed on by both sides.
    public var version: UInt16
    /// The sender's key for this queue as SubjectPublicKeyInfo of X25519. Only the first message has one.
    public var senderKey: [UInt8]?
    /// 24 bytes.
    public var nonce: [UInt8]
    public var box: [UInt8]

    /// The padded lengths of first and later messages in bytes.
    private static let firstSize = 15_904
    private static let laterSize = 16_000

    /// The content of the box.
    public struct Content: Hashable, Sendable {
        /// The key with which the recipient secures the queue, if the sender could not do so itself.
        public var authorizationKey: [UInt8]?
        /// The encoded envelope of the agent protocol.
        public var envelope: [UInt8]

        public init(authorizationKey: [UInt8]? = nil, envelope: [UInt8]) {
            self.authorizationKey = authorizationKey
            self.envelope = envelope
        }

        var encoded: [UInt8] {
            guard let authorizationKey else { return [UInt8(ascii: "_")] + envelope }
            var bytes = [UInt8(ascii: "K")]
            bytes.append(byteString: authorizationKey)
            return bytes + envelope
        }

        init?(decoding bytes: [UInt8]) {
            var reader = ByteReader(bytes)
            switch reader.byte() {
            case UInt8(ascii: "_"): authorizationKey = nil
            case UInt8(ascii: "K"):
                guard let key = reader.authorizationKey() else { return nil }
                authorizationKey = key
            default: return nil
            }
            envelope = reader.rest()
        }
    }

    /// - Parameters:
    ///   - senderKey: Only for the first message.
    ///   - secret: The agreement of the sender's key with the key in the queue's address.
    ///   - nonce: 24 random bytes.
    /// - Throws: `.tooLong`.
    public init(
        sealing content: Content, version: UInt16, senderKey: [UInt8]?, secret: WipedBytes, nonce: [UInt8]
    ) throws(SMPError) {
        let size = senderKey == nil ? Self.laterSize : Self.firstSize
        guard let box = MessageBox.seal(content.encoded, paddedTo: size, key: secret, nonce: nonce) else {
            throw SMPError(.tooLong, "The message is too long for one message of a queue.")
        }
        self.version = version
        self.senderKey = senderKey
        self.nonce = nonce
        self.box = box
    }

    /// Reads a body.
    /// - Throws: `.malformed`.
    public init(decoding bytes: [UInt8]) throws(SMPError) {
        var reader = ByteReader(bytes)
        guard let version = reader.integer(UInt16.self),
            let senderKey = reader.optional({ $0.agreementKey() }),
            let nonce = reader.bytes(MessageBox.nonceLength), reader.remaining >= MessageBox.tagLength
        else { throw .malformed }
        self.version = version
        self.senderKey = senderKey
        self.nonce = nonce
        box = reader.rest()
    }

    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: version)
        bytes.append(optional: senderKey) { $0.append(byteString: $1) }
        return bytes + nonce + box
    }

    /// - Parameter secret: The agreement of the queue's key with the sender's key of this message or of the first one.
    /// - Throws: `.notAuthentic`, `.malformed`.
    public func open(secret: WipedBytes) throws(SMPError) -> Content {
        guard let plain = MessageBox.openPadded(box, key: secret, nonce: nonce) else { throw .notAuthentic }
        guard let content = Content(decoding: plain) else { throw .malformed }
        return content
    }
}
