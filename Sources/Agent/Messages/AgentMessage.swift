import Base
import SMP

/// A message decrypted by the ratchet.
///
///     D  1 to 8 reply queues · information to the end: the joiner's first message
///     I  information to the end: the inviter's first message
///     M  number Int64 · hash of the previous message (1-byte length) · content: all later ones
///     M  number Int64 · hash of the message before it (1-byte length) · content: every later one
enum AgentMessage: Hashable, Sendable {
    case joined(queues: [ReplyQueue], information: [UInt8])
    case confirmed(information: [UInt8])
    case numbered(Int64, previousHash: [UInt8], MessageContent)

    private static let maxQueues = 8

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .joined(let queues, let information):
            bytes.append(UInt8(ascii: "D"))
            bytes.append(list: queues) { $0.append($1) }
            bytes += information
        case .confirmed(let information): bytes = [UInt8(ascii: "I")] + information
        case .numbered(let number, let previousHash, let content):
            bytes.append(UInt8(ascii: "M"))
            bytes.append(bigEndian: number)
            bytes.append(byteString: previousHash)
            bytes += content.encoded
        }
        return bytes
    }

    /// Returns nil for any other input. A numbered message with unknown content is valid: its number counts.
    init?(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        switch reader.byte() {
        case UInt8(ascii: "D"):
            guard let queues = reader.list({ $0.replyQueue() }), queues.count <= Self.maxQueues else {
                return nil
            }
            self = .joined(queues: queues, information: reader.rest())
        case UInt8(ascii: "I"): self = .confirmed(information: reader.rest())
        case UInt8(ascii: "M"):
            guard let number = reader.integer(Int64.self), number > 0, let previousHash = reader.byteString()
            else { return nil }
            self = .numbered(
                number, previousHash: previousHash, MessageContent(decoding: reader.rest()))
        default: return nil
        }
    }
}
