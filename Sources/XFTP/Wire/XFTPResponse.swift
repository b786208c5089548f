import Base

/// A response of a relay.
public enum XFTPResponse: Hashable, Sendable {
    /// SIDS: the IDs of a new record, the recipients' in the order of their keys.
    case created(sender: [UInt8], recipients: [[UInt8]])
    /// RIDS: the IDs of added recipients in the order of their keys.
    case added(recipients: [[UInt8]])
    /// FILE: the relay's X25519 key (SubjectPublicKeyInfo) and a 24-byte nonce. The encrypted chunk follows the block.
    case file(key: [UInt8], nonce: [UInt8])
    /// OK
    case ok
    /// PONG
    case pong
    /// ERR
    case error(XFTPProtocolError)

    public static let nonceSize = 24

    public var encoded: [UInt8] {
        switch self {
        case .created(let sender, let recipients):
            var bytes = Array("SIDS ".utf8)
            bytes.append(byteString: sender)
            bytes.append(byteStrings: recipients)
            return bytes
        case .added(let recipients):
            var bytes = Array("RIDS ".utf8)
            bytes.append(byteStrings: recipients)
            return bytes
        case .file(let key, let nonce):
            precondition(nonce.count == Self.nonceSize)
            var bytes = Array("FILE ".utf8)
            bytes.append(byteString: key)
            return bytes + nonce
        case .ok: return Array("OK".utf8)
        case .pong: return Array("PONG".utf8)
        case .error(let error): return Array("ERR \(error.text)".utf8)
        }
    }

    /// Decodes a response. Returns nil if it is invalid. Ignores bytes after the known fields, because the protocol may
    /// grow.
    public init?(decoding bytes: [UInt8]) {
        let word = bytes.prefix { $0 != UInt8(ascii: " ") }
        var reader = ByteReader(Array(bytes.dropFirst(word.count + 1)))
        switch String(decoding: word, as: UTF8.self) {
        case "OK": self = .ok
        case "PONG": self = .pong
        case "SIDS":
            guard let sender = reader.byteString(), let recipients = reader.byteStrings() else { return nil }
            self = .created(sender: sender, recipients: recipients)
        case "RIDS":
            guard let recipients = reader.byteStrings() else { return nil }
            self = .added(recipients: recipients)
        case "FILE":
            guard let key = reader.byteString(), let nonce = reader.bytes(Self.nonceSize) else { return nil }
            self = .file(key: key, nonce: nonce)
        case "ERR":
            let text = String(decoding: reader.rest(), as: UTF8.self)
            guard let error = XFTPProtocolError(text: text) else { return nil }
            self = .error(error)
        default: return nil
        }
    }
}
