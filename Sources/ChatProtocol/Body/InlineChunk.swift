import Base

/// A piece of a small file that travels within messages: `F`, an empty byte string, the id of the message that offered
/// the file, the number of the chunk, and its bytes to the end.
public struct InlineChunk: Hashable, Sendable {
    public var id: SharedMessageID
    /// From 1; 0 when the sender takes the file back.
    public var number: UInt8
    public var bytes: [UInt8]

    public init(of id: SharedMessageID, number: UInt8, bytes: [UInt8]) {
        self.id = id
        self.number = number
        self.bytes = bytes
    }

    static let letter = UInt8(ascii: "F")

    /// nil where the id is missing.
    init?(decoding body: [UInt8]) {
        var reader = ByteReader(body)
        guard reader.byte() == Self.letter, reader.byteString() == [],
            let id = reader.byteString().flatMap(SharedMessageID.init(bytes:)), let number = reader.byte()
        else { return nil }
        self.init(of: id, number: number, bytes: reader.rest())
    }

    public var encoded: [UInt8] {
        var body: [UInt8] = [Self.letter, 0]
        body.append(byteString: id.bytes)
        body.append(number)
        return body + bytes
    }
}
