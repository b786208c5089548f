import Base
import JSON

/// The body of an agent message, by its first byte: one message (`{`), a batch (`[`), either compressed
/// (`X`), or a file chunk (`F`).
public enum ChatBody {
    /// One element of a body.
    public enum Element: Hashable, Sendable {
        case message(ChatMessage)
        case chunk(InlineChunk)
        /// Unintelligible; other elements of its batch are unaffected.
        case unreadable
    }

    private static let compressed = UInt8(ascii: "X")

    /// Decodes a body into its elements, in order.
    /// - Parameter compression: nil if not available.
    /// - Throws: `.malformed`, `.tooLong` if it would inflate beyond 65,536 bytes, `.compressionMissing`.
    public static func read(
        _ body: [UInt8], compression: Zstandard?
    ) throws(ChatProtocolError) -> [Element] {
        if body.first == compressed { return try readPlain(inflate(body, compression: compression)) }
        return try readPlain(body)
    }

    /// Decodes connection information, which is a single message.
    /// - Throws: the errors of `read`.
    public static func readInformation(
        _ body: [UInt8], compression: Zstandard?
    ) throws(ChatProtocolError) -> ChatMessage {
        guard case .message(let message) = try read(body, compression: compression).single else {
            throw .malformed
        }
        return message
    }

    private static func readPlain(_ body: [UInt8]) throws(ChatProtocolError) -> [Element] {
        switch body.first {
        case InlineChunk.letter:
            guard let chunk = InlineChunk(decoding: body) else { throw .malformed }
            return [.chunk(chunk)]
        case UInt8(ascii: "{"):
            guard let message = ChatMessage(decoding: body) else { throw .malformed }
            return [.message(message)]
        case UInt8(ascii: "["):
            guard body.count <= ProtocolLimits.inflated, let json = JSONValue.parse(body) else {
                throw .malformed
            }
            let elements = json.elements
            guard (1...ProtocolLimits.batch).contains(elements.count) else { throw .malformed }
            return elements.map { element in ChatMessage(element).map { .message($0) } ?? .unreadable }
        default: throw .malformed
        }
    }

    /// `X` and a list of pieces: `0` with plain bytes, or `1` with a Zstandard frame.
    private static func inflate(
        _ body: [UInt8], compression: Zstandard?
    ) throws(ChatProtocolError) -> [UInt8] {
        var reader = ByteReader(body)
        guard reader.byte() == compressed, let count = reader.byte(), count > 0 else { throw .malformed }
        var content: [UInt8] = []
        for _ in 0..<count {
            let piece: [UInt8]?
            switch reader.byte() {
            case UInt8(ascii: "0"): piece = reader.byteString()
            case UInt8(ascii: "1"):
                guard let compression else { throw .compressionMissing }
                piece = reader.large().flatMap {
                    compression.inflate($0, limit: ProtocolLimits.inflated - content.count)
                }
            default: throw .malformed
            }
            guard let piece else { throw .malformed }
            guard content.count + piece.count <= ProtocolLimits.inflated else { throw .inflatesTooFar }
            content += piece
        }
        guard reader.remaining == 0 else { throw .malformed }
        return content
    }

    /// Encodes a message, compressed if it does not fit otherwise.
    /// - Throws: `.tooLong`.
    public static func write(
        _ message: ChatMessage, capacity: ProtocolLimits.Capacity, compression: Zstandard?
    ) throws(ChatProtocolError) -> [UInt8] {
        let plain = Array(message.json.utf8)
        if plain.count <= capacity.bytes { return plain }
        guard plain.count <= ProtocolLimits.inflated, let frame = compression?.compress(plain),
            frame.count + 5 <= capacity.bytes
        else { throw .tooLong }
        var body: [UInt8] = [compressed, 1, UInt8(ascii: "1")]
        body.append(large: frame)
        return body
    }
}

extension Array {
    /// The only element; nil for any other count.
    fileprivate var single: Element? { count == 1 ? first : nil }
}
