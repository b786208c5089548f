import Base

/// A request of the XFTP protocol. IDs and keys are opaque bytes; public keys are
/// SubjectPublicKeyInfo DER.
public enum XFTPCommand: Hashable, Sendable {
    /// PING, unsigned, without entity. Answer: PONG.
    case ping
    /// FNEW: makes a record. Signed by the new sender key, without entity. Answer: SIDS.
    case create(NewChunk)
    /// FADD: more recipients of the sender's record. Answer: RIDS.
    case addRecipients(keys: [[UInt8]])
    /// FPUT: the chunk follows the block. Answer: OK.
    case upload
    /// FDEL: removes record and bytes. Answer: OK.
    case delete
    /// FGET with a fresh X25519 key. Answer: FILE, then the chunk encrypted and its 16-byte tag.
    case download(key: [UInt8])
    /// FACK: removes this one recipient ID. Answer: OK.
    case acknowledge

    /// What FNEW carries.
    public struct NewChunk: Hashable, Sendable {
        /// Ed25519 or Ed448.
        public var senderKey: [UInt8]
        /// Bytes that FPUT will bring.
        public var size: UInt32
        /// Their SHA-256. Other lengths than 32 are let through here, as relays do.
        public var digest: [UInt8]
        /// One for each recipient, 1 to 255.
        public var recipientKeys: [[UInt8]]
        /// Password of the relay. A secret.
        public var password: [UInt8]?

        public init(
            senderKey: [UInt8], size: UInt32, digest: [UInt8], recipientKeys: [[UInt8]], password: [UInt8]?
        ) {
            self.senderKey = senderKey
            self.size = size
            self.digest = digest
            self.recipientKeys = recipientKeys
            self.password = password
        }
    }

    /// The bytes of the command, to be put into a transmission.
    public var encoded: [UInt8] {
        switch self {
        case .ping: return Array("PING".utf8)
        case .upload: return Array("FPUT".utf8)
        case .delete: return Array("FDEL".utf8)
        case .acknowledge: return Array("FACK".utf8)
        case .create(let chunk):
            var bytes = Array("FNEW ".utf8)
            bytes.append(byteString: chunk.senderKey)
            bytes.append(bigEndian: chunk.size)
            bytes.append(byteString: chunk.digest)
            bytes.append(byteStrings: chunk.recipientKeys)
            if let password = chunk.password {
                bytes.append(UInt8(ascii: "1"))
                bytes.append(byteString: password)
            } else {
                bytes.append(UInt8(ascii: "0"))
            }
            return bytes
        case .addRecipients(let keys):
            var bytes = Array("FADD ".utf8)
            bytes.append(byteStrings: keys)
            return bytes
        case .download(let key):
            var bytes = Array("FGET ".utf8)
            bytes.append(byteString: key)
            return bytes
        }
    }

    /// Reads a command.
    /// - Throws: what a relay answers: CMD UNKNOWN, CMD SYNTAX (also for bytes that are left over).
    public init(decoding bytes: [UInt8]) throws(XFTPProtocolError) {
        let word = bytes.prefix { $0 != UInt8(ascii: " ") }
        var reader = ByteReader(Array(bytes.dropFirst(word.count)))
        let hasSpace = reader.byte() != nil
        let command: XFTPCommand?
        switch String(decoding: word, as: UTF8.self) {
        case "PING": command = hasSpace ? nil : .ping
        case "FPUT": command = hasSpace ? nil : .upload
        case "FDEL": command = hasSpace ? nil : .delete
        case "FACK": command = hasSpace ? nil : .acknowledge
        case "FNEW": command = NewChunk(reading: &reader).map { .create($0) }
        case "FADD": command = reader.byteStrings().map { .addRecipients(keys: $0) }
        case "FGET": command = reader.byteString().map { .download(key: $0) }
        // A known word with something glued to it is a wrong argument list, not an unknown command.
        case let text where ["PING", "FPUT", "FDEL", "FACK"].contains(String(text.prefix(4))):
            command = nil
        default: throw .command(.unknown)
        }
        guard let command, reader.remaining == 0 else { throw .command(.syntax) }
        self = command
    }
}

extension XFTPCommand.NewChunk {
    fileprivate init?(reading reader: inout ByteReader) {
        guard let senderKey = reader.byteString(), let size = reader.integer(UInt32.self),
            let digest = reader.byteString(), let recipientKeys = reader.byteStrings(),
            let password = reader.optionalByteString()
        else { return nil }
        self.init(
            senderKey: senderKey, size: size, digest: digest, recipientKeys: recipientKeys,
            password: password)
    }
}
