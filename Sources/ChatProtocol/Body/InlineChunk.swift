import Base

/// A chunk of an inline file: `F`, an empty byte string, the id of the file's message, the chunk's number,
/// and bytes to the end.
public struct InlineChunk: Hashable, Sendable {
    public var id: SharedMessageID
    /// From 1; 0 if the sender cancels the file.
    public var number: UInt8
    public var bytes: [UInt8]

    public init(of id: SharedMessageID, number: UInt8, bytes: [UInt8]) {
        self.id = id
        self.number = number
        self.bytes = bytes
    }

    static let letter = UInt8(ascii: "F")

    /// nil without an id.
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
