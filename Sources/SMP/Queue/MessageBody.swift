import Base
import Cryptography

/// The decrypted body of MSG. `received` is in seconds since 1970 by the server's clock.
public enum DeliveredBody: Hashable, Sendable {
    /// A message of the sender.
    case message(received: Int64, flags: [UInt8], body: [UInt8])
    /// The queue was full. The sender may continue after all messages up to here were acknowledged.
    case quota(received: Int64)

    /// The padded length of the box's content in bytes.
    static let size = 16_106

    /// Opens the box of a message.
    /// - Parameters:
    ///   - messageID: 24 bytes, the box's nonce.
    ///   - secret: The agreement of the recipient's box key with the server's (`Answer.QueueIDs.boxKey`).
    /// - Throws: `.notAuthentic`, `.malformed`.
    public init(opening box: [UInt8], messageID: [UInt8], secret: WipedBytes) throws(SMPError) {
        guard let plain = MessageBox.openPadded(box, key: secret, nonce: messageID) else {
            throw .notAuthentic
        }
        guard let body = DeliveredBody(decoding: plain) else { throw .malformed }
        self = body
    }

    /// Returns the box of a server, or nil if the body does not fit.
    public func sealed(messageID: [UInt8], secret: WipedBytes) -> [UInt8]? {
        MessageBox.seal(encoded, paddedTo: Self.size, key: secret, nonce: messageID)
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .message(let received, let flags, let body):
            bytes.append(bigEndian: received)
            bytes += flags + [UInt8(ascii: " ")] + body
        case .quota(let received):
            bytes += Self.quotaWord
            bytes.append(bigEndian: received)
        }
        return bytes
    }

    private static let quotaWord = Array("QUOTA ".utf8)

    init?(decoding bytes: [UInt8]) {
        if bytes.starts(with: Self.quotaWord) {
            var reader = ByteReader(Array(bytes.dropFirst(Self.quotaWord.count)))
            guard let seconds = reader.integer(Int64.self), reader.remaining == 0 else { return nil }
            self = .quota(received: seconds)
            return
        }
        var reader = ByteReader(bytes)
        guard let seconds = reader.integer(Int64.self) else { return nil }
        let rest = reader.rest()
        guard let space = rest.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        self = .message(
            received: seconds, flags: Array(rest[..<space]), body: Array(rest[(space + 1)...]))
    }
}
