/// Reads big-endian fields from the front of outside bytes. Every method returns nil if the bytes do not contain the
/// field, and then does not move.
public struct ByteReader: Sendable {
    private let bytes: [UInt8]
    public private(set) var position: Int

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
    }

    public var remaining: Int { bytes.count - position }

    public mutating func byte() -> UInt8? {
        guard remaining >= 1 else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    public mutating func bytes(_ count: Int) -> [UInt8]? {
        guard count >= 0, remaining >= count else { return nil }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    /// The same without a copy, for secrets.
    public mutating func slice(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, remaining >= count else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    public mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        let size = Number.bitWidth / 8
        guard remaining >= size else { return nil }
        defer { position += size }
        var number: Number = 0
        for place in position..<position + size {
            number = number << 8 | Number(truncatingIfNeeded: bytes[place])
        }
        return number
    }

    /// Returns the rest.
    public mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }
}

extension [UInt8] {
    /// Appends an integer in big-endian order.
    public mutating func append(bigEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
