import Base

/// A request of the XFTP protocol. IDs and keys are opaque bytes; public keys are SubjectPublicKeyInfo DER.
public enum XFTPCommand: Hashable, Sendable {
    /// PING, unsigned, without entity. Response: PONG.
    case ping
    /// FNEW: creates a record. Signed by the new sender key, without entity. Response: SIDS.
    case create(NewChunk)
    /// FADD: adds recipients to the sender's record. Response: RIDS.
    case addRecipients(keys: [[UInt8]])
    /// FPUT: uploads the chunk after the block. Response: OK.
    case upload
    /// FDEL: deletes record and bytes. Response: OK.
    case delete
    /// FGET with a new X25519 key. Response: FILE, the encrypted chunk and its 16-byte tag.
    case download(key: [UInt8])
    /// FACK: deletes this recipient ID. Response: OK.
    case acknowledge

    /// The parameters of FNEW.
    public struct NewChunk: Hashable, Sendable {
        /// Ed25519 or Ed448.
        public var senderKey: [UInt8]
        /// The length of the chunk in bytes.
        public var size: UInt32
        /// The SHA-256 of the chunk. Lengths other than 32 are accepted, as relays do.
        public var digest: [UInt8]
        /// One key for each recipient, 1 to 255.
        public var recipientKeys: [[UInt8]]
        /// The password of the relay. Secret.
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

    /// The encoded command, the body of a transmission.
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

    /// Decodes a command.
    /// - Throws: The relay's response: CMD UNKNOWN or CMD SYNTAX, the latter also for trailing bytes.
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
        // A known word with appended characters is a syntax error, not an unknown command.
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
